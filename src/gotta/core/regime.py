"""When things happen: samples per prediction, samples between adaptations, resets, and which prediction is scored."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from gotta.limits import Within, check_fields

MOST = 1_000_000  # samples in one step
Samples = Annotated[int, Within(1, MOST)]
Reset = Literal["never", "each_domain", "each_batch"]
Score = Literal["before", "after"]


@dataclass(frozen=True)
class Regime:
    """`adapt_every` counts offered samples; None adapts after every batch."""

    batch_size: Samples = 64
    adapt_every: Samples | None = None
    reset: Reset = "never"
    score: Score = "before"

    def __post_init__(self) -> None:
        check_fields(self)


def steps_of_m(capacity: int | None, reset: Reset = "never", score: Score = "before") -> Regime:
    """The paper's: a memory of M rows sees the stream in steps of M samples; without a memory the steps are of 64."""
    size = 64 if capacity is None else capacity
    return Regime(size, None if capacity is None else size, reset, score)


def fixed(capacity: int | None, reset: Reset = "never", score: Score = "before") -> Regime:
    """64 samples per prediction and per adaptation whatever the memory, so that its size is the only variable."""
    return Regime(64, None if capacity is None else 64, reset, score)


REGIMES = {"steps_of_M": steps_of_m, "fixed": fixed}


def parts_of(size: int, offered: int, adapt_every: int | None) -> Iterator[tuple[slice, bool]]:
    """A batch cut where an adaptation is due, after so many samples were offered."""
    start, every = 0, adapt_every or offered + size
    while start < size:
        stop = min(size, start + every - (offered + start) % every)
        yield slice(start, stop), (offered + stop) % every == 0
        start = stop
