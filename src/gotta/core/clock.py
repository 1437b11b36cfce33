"""A stream that does not wait: while a method is busy with a batch, the batches that arrive are predicted and missed.

Time is counted in forwards: `pace` is how many forwards of a batch fit between two batches. A step that costs `c` keeps
the method busy for c / pace batches, so that it misses the next ceil(c / pace) - 1 of them. A missed batch is predicted
by the model as it stands; nothing is stored and nothing adapts. That prediction is free, as if it ran beside the
adaptation (the protocol of Alfarra et al., "Evaluation of Test-Time Adaptation Under Computational Time Constraints").
"""

from collections.abc import Mapping, Sequence
from typing import Any

CLOCKS = ("none", "analytic", "measured")
BACKWARD = 2.0  # a backward pass costs about two forward passes
ROUNDING = 1e-9  # 3 forwards at a pace of 1 are three batches' time, whatever the last bit says
NOISE = 0.25  # of a batch's time


class Clock:
    """The stream waits: no batch is missed. The base of the clocks that run."""

    def __init__(self) -> None:
        self.free_at = 0.0  # in batches

    def ready(self, step: int) -> bool:
        """Whether the method has finished with earlier batches when this one arrives."""
        return step >= self.free_at - ROUNDING

    def spend(self, step: int, cost: Mapping[str, Mapping[str, Any]], samples: int) -> None:
        """The method took this batch of so many samples, at this cost by phase."""

    def reset(self) -> None:
        """A new episode begins with a method that has nothing to do."""
        self.free_at = 0.0

    def catch_up(self, steps: Sequence[Mapping[str, Any]]) -> None:
        """Go on after these steps, given by their records: what the last one that was not missed cost decides."""
        taken = next((step for step in reversed(steps) if not step["missed"]), None)
        if taken is not None:
            self.spend(taken["step"], taken["cost"], taken["samples"] + taken.get("foreign", 0))


class Analytic(Clock):
    """A step costs the forwards and backwards it does, in forwards of its batch."""

    def __init__(self, pace: float) -> None:
        super().__init__()
        self.pace = pace

    def spend(self, step: int, cost: Mapping[str, Mapping[str, Any]], samples: int) -> None:
        self.free_at = step + forwards(cost, samples) / self.pace


class Measured(Clock):
    """A step costs the seconds that were measured once for its cell: `step` of them, where a forward takes `forward`.

    Seconds are never the same twice, so a quarter of a batch's time too much is not yet a missed batch.
    """

    def __init__(self, pace: float, step: float, forward: float) -> None:
        super().__init__()
        self.batches = step / forward / pace

    def spend(self, step: int, cost: Mapping[str, Mapping[str, Any]], samples: int) -> None:
        self.free_at = step + self.batches - NOISE


def forwards(cost: Mapping[str, Mapping[str, Any]], samples: int) -> float:
    """What a step did, in forwards of its batch. A backward is taken to be as wide as the step's forwards."""
    phases = [phase for phase in cost.values() if "forwards" in phase]
    passes = sum(phase["forwards"] for phase in phases)
    through = sum(phase["samples"] for phase in phases)
    width = through / passes if passes else samples
    return float(through + BACKWARD * width * sum(phase["backwards"] for phase in phases)) / samples
