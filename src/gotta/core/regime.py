"""When things happen: samples per prediction, samples between adaptations, and which prediction is scored."""

from collections.abc import Iterator
from typing import Annotated, Literal

from gotta.limits import Within

MOST = 1_000_000  # samples in one step
Samples = Annotated[int, Within(1, MOST)]
Score = Literal["before", "after"]
Steps = tuple[int, int | None]  # samples in a batch, and those offered between two adaptations; None: every batch


def steps_of_m(capacity: int | None) -> Steps:
    """The paper's: a memory of M rows sees the stream in steps of M samples; without a memory the steps are of 64."""
    return (64, None) if capacity is None else (capacity, capacity)


def fixed(capacity: int | None) -> Steps:
    """64 samples per prediction and per adaptation whatever the memory, so that its size is the only variable."""
    return 64, None if capacity is None else 64


REGIMES = {"steps_of_M": steps_of_m, "fixed": fixed}


def parts_of(size: int, offered: int, adapt_every: int | None) -> Iterator[tuple[slice, bool]]:
    """A batch cut where an adaptation is due, after so many samples were offered."""
    start, every = 0, adapt_every or offered + size
    while start < size:
        stop = min(size, start + every - (offered + start) % every)
        yield slice(start, stop), (offered + stop) % every == 0
        start = stop
