"""The evaluation: drive an adapted model over a stream and tell what happened at each step. The file to read first."""

from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gotta.core.adapted import Adapted
from gotta.core.clock import Clock
from gotta.core.domain_statistics import DomainStatistics
from gotta.core.true_labels import TrueLabelMemory
from gotta.streams import Stream, read_ahead
from gotta.types import Outcome, Truth


@dataclass(frozen=True)
class Record:
    """One step of an evaluation. The truth is for metrics; the model has seen none of it."""

    step: int
    truth: Truth
    outcome: Outcome
    missed: bool = False  # predicted only: the method was busy with an earlier batch, or is not exposed to this one


def evaluate(
    adapted: Adapted,
    stream: Stream,
    reset: str = "never",
    first: int = 0,
    workers: int | None = None,
    clock: Clock | None = None,
    known: DomainStatistics | None = None,
    exposed: NDArray[np.bool_] | None = None,
) -> Generator[Record]:
    """Each batch once, in stream order: reset if due, predict, observe, adapt. `workers` read the next batches.

    The stream waits unless a clock runs. With `known` the networks are lent the statistics of each domain beforehand.
    `exposed` says of each step whether its batch may be adapted to; a batch that may not is predicted only.
    """
    device = next(adapted.model.parameters()).device
    clock = Clock() if clock is None else clock
    with closing(read_ahead(stream, first, workers)) as batches:
        for step, batch in enumerate(batches, first):
            if reset == "each_batch" or (reset == "each_domain" and stream.starts_domain(step)):
                adapted.reset()
            if reset == "each_domain" and stream.starts_domain(step):
                clock.reset()
            if known is not None:
                known.enter(adapted.method, step)
            if isinstance(adapted.memory, TrueLabelMemory):
                adapted.memory.reveal(batch.truth.label)
            x, starts = batch.x.to(device), stream.told_starts(step)
            if clock.ready(step) and (exposed is None or exposed[step]):
                outcome = adapted.step(x, starts=starts)
                clock.spend(step, outcome.cost, len(x))
                yield Record(step, batch.truth, outcome)
            else:
                yield Record(step, batch.truth, _only_predicted(adapted, x, starts), missed=True)


def _only_predicted(adapted: Adapted, x: Tensor, starts: NDArray[np.bool_] | None) -> Outcome:
    adapted.freeze()
    try:
        return adapted.step(x, starts=starts)
    finally:
        adapted.unfreeze()
        if starts is not None and starts.any():
            adapted.boundary()
