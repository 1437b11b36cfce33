"""Reading ahead: the pixels of the next steps are fetched while the model works on this one."""

import os
import pickle
from collections.abc import Generator
from contextlib import closing

from gotta.errors import GottaError
from gotta.streams.stream import Stream, shown
from gotta.types import Dataset, Step
from gotta.workers import run_in_order

VARIABLE = "GOTTA_DATA_WORKERS"
MOST_THREADS = 4


def read_ahead(stream: Stream, first: int = 0, workers: int | None = None) -> Generator[Step]:
    """The steps of a `stream` from number `first` on: the same whatever `workers` read, at most three of each in
    memory.

    Files are decoded in threads, which then do not hold each other up. Costly work in Python, such as corrupting, is
    done in processes if `workers` asks for some; a script then guards its entry with `if __name__ == "__main__"`. Left
    open, GOTTA_DATA_WORKERS decides, else threads if there is something to wait for and none for images in memory.

    >>> import gotta
    >>> spec = gotta.streams.StreamSpec(per_class=2, domains=("fog",), batch_size=8)
    >>> stream = gotta.streams.Stream(gotta.data.dataset("cifar10-mini"), spec)
    >>> [len(step.x) for step in gotta.streams.read_ahead(stream, first=1)]
    [8, 4]
    """
    asked = _from_environment() if workers is None else workers
    pixels_from = getattr(stream.dataset, "pixels_from", "memory")
    # One thread for what is computed, more for files, where there are cores for them.
    usual = {"files": min(MOST_THREADS, max(1, (os.cpu_count() or 1) - 1)), "corrupting": 1}.get(pixels_from, 0)
    count = usual if asked is None else asked
    processes = asked is not None and pixels_from == "corrupting" and _can_be_sent(stream.dataset)
    if not 0 <= first <= len(stream):
        raise GottaError(f"step {first} does not exist: the stream has steps 0..{len(stream) - 1}.")
    steps = range(first, len(stream))
    requests = (stream.request(stream.batches[k]) for k in steps)
    with closing(run_in_order(shown, stream.dataset, requests, count, processes)) as pixels:
        for k, images in zip(steps, pixels, strict=True):
            yield stream.step(k, images)


def _from_environment() -> int | None:
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    if not text.isdecimal():
        raise GottaError(f"{VARIABLE} must be a number of workers, 0 or more (got '{text}').")
    return int(text)


def _can_be_sent(dataset: Dataset) -> bool:
    """Whether another process can have the data set; one of the user's own may hold what cannot be sent."""
    try:
        pickle.dumps(dataset)
    except Exception:  # whatever a class of the user's own raises
        return False
    return True
