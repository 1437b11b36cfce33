"""One stream of a model that holds many: saved, loaded and begun anew without the others and without the network."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gotta.core import resume, saved
from gotta.core.adapted import Adapted
from gotta.core.background import Background
from gotta.core.streams import Held, begin, state_of_stream
from gotta.errors import GottaError
from gotta.memory import Memory
from gotta.state import read_values, values_of

LEFT_OUT = ("method", "memory", "guard", "cost")  # what is of the model


def can_share(model: Adapted) -> bool:
    """Whether one network can serve many streams: nothing is trained or works behind, nothing watches one stream."""
    alone = model.guard is not None or model.shadow is not None or isinstance(model, Background)
    return not model.shares_weights and not alone and not model.memory.in_file


class OneStream:
    def __init__(self, model: Adapted, stream: str) -> None:
        self.model, self.stream = model, stream

    @property
    def memory(self) -> Memory:
        return self._held.memory

    def save(self, path: Path, beside: Mapping[str, Any]) -> None:
        with self.model.alone("save()"):
            streams = [[self.stream, state_of_stream(self._held)]]
            state = {**dict.fromkeys(LEFT_OUT), "counters": values_of(self.model), "streams": streams}
            saved.write(path, resume.identity(self.model), {**state, "beside": dict(beside)})

    def load(self, path: Path) -> dict[str, Any]:
        with self.model.alone("load()"):
            state = resume.read_fitting(self.model, path)
            try:
                if self.model.sample is None:  # it has predicted nothing yet
                    self.model.sample = read_values(self.model, state["counters"])["sample"]
                held = resume.read_stream(self.model, state["streams"][0][1])
            except resume.UNREADABLE as error:
                raise GottaError(f"the state in {path} does not fit this model: {error}") from error
            self.model.held_streams = {**self.model.held_streams, self.stream: held}
            return dict(state["beside"])

    def reset(self) -> None:
        self.model.forget(self.stream)

    @property
    def _held(self) -> Held:
        found = self.model.held_streams.get(self.stream)
        return begin(self.model) if found is None else found
