"""One stream of a model that holds many, as the store of a service takes it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gotta.core.adapted import Adapted
from gotta.core.background import Background
from gotta.core.resume import load_stream, save_stream
from gotta.core.streams import Held, begin
from gotta.memory import Memory


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
            save_stream(self.model, self.stream, self._held, path, beside)

    def load(self, path: Path) -> dict[str, Any]:
        with self.model.alone("load()"):
            held, beside = load_stream(self.model, path)
            self.model.held_streams = {**self.model.held_streams, self.stream: held}
            return beside

    def reset(self) -> None:
        self.model.forget(self.stream)

    @property
    def _held(self) -> Held:
        found = self.model.held_streams.get(self.stream)
        return begin(self.model) if found is None else found


Model = Adapted | OneStream  # what adapts to a stream: a model of its own, or its part of one for all
