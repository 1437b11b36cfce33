"""One stream of a model that holds many, written and read back without the others and without the network."""

import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from gotta.core import resume, saved
from gotta.core.streams import Held, Key, state_of_stream
from gotta.errors import GottaError
from gotta.state import read_each, values_of

if TYPE_CHECKING:
    from gotta.core.between_steps import BetweenSteps

LEFT_OUT = ("method", "memory", "guard", "cost")  # what is of the model
FOLDER = "stream-{}"
GONE = ".gone-"


def save_stream(model: "BetweenSteps", key: Key, held: Held, path: Path, beside: Mapping[str, Any]) -> None:
    streams = [[key, state_of_stream(held)]]
    state = {**dict.fromkeys(LEFT_OUT), "counters": values_of(model), "streams": streams}
    saved.write(path, resume.identity(model), {**state, "beside": dict(beside)})


def load_stream(model: "BetweenSteps", path: Path) -> tuple[Held, dict[str, Any]]:
    """A stream that `save_stream` wrote of a model built alike, and what was saved beside it."""
    state = resume.read_fitting(model, path)
    try:
        if model.sample is None:  # it has predicted nothing yet
            model.sample = read_each(model.state, state["counters"])["sample"]
        return resume.read_stream(model, state["streams"][0][1]), dict(state["beside"])
    except Exception as error:
        raise GottaError(f"the state in {path} does not fit this model: {error}") from error


def put_aside(model: "BetweenSteps", going: Mapping[Key, Held]) -> None:
    """Write streams that have to make room into the folder for them, if there is one."""
    for key, held in going.items() if model.limits.aside else ():
        save_stream(model, key, held, place(model, key), {"stream": key})


def take_back(model: "BetweenSteps", key: Key) -> Held | None:
    """A stream that was put aside. One of another model is an error, so that nothing is lost."""
    if not model.limits.aside or not (place(model, key) / saved.RECORD).exists():  # a kill may leave a folder without
        return None
    return load_stream(model, place(model, key))[0]


def drop_aside(model: "BetweenSteps", key: Key | None = None) -> bool:
    """Remove what was put aside of a stream, or of all. Whether there was anything."""
    folder = model.limits.aside
    found = [] if folder is None else list(folder.glob(FOLDER.format("*"))) if key is None else [place(model, key)]
    there = [path for path in found if path.exists()]
    for path in there:  # renamed first, because an interrupt would leave half of a folder
        shutil.rmtree(path.rename(path.with_name(f"{GONE}{uuid4().hex}")))
    if key is None:
        for path in folder.glob(f"{GONE}*") if folder else ():  # of calls that were cut off
            shutil.rmtree(path, ignore_errors=True)
        model.stale_aside = False
    return bool(there)


def place(model: "BetweenSteps", key: Key) -> Path:
    assert model.limits.aside is not None
    if model.stale_aside:  # a reset was cut off
        drop_aside(model)
    return model.limits.aside / FOLDER.format(sha256(repr(key).encode()).hexdigest()[:32])
