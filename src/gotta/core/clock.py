"""A stream that does not wait: while a method is busy with a batch, the batches that arrive are predicted and missed.

Time is counted in forwards: `pace` is how many forwards of a batch fit between two batches. A step that costs `c` keeps
the method busy for c / pace batches, so that it misses the next ceil(c / pace) - 1 of them. A missed batch is predicted
by the model as it stands; nothing is stored and nothing adapts. That prediction is free, as if it ran beside the
adaptation (the protocol of Alfarra et al., "Evaluation of Test-Time Adaptation Under Computational Time Constraints").
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

CLOCKS = ("none", "analytic")
BACKWARD = 2.0  # a backward pass costs about two forward passes
ROUNDING = 1e-9  # 3 forwards at a pace of 1 are three batches' time, whatever the last bit says


class Clock:
    """Counts forwards: at a `pace` of so many of them from batch to batch. Without one the stream waits."""

    def __init__(self, pace: float | None = None) -> None:
        self.pace = inf if pace is None else pace
        self.free_at = 0.0  # in batches

    def ready(self, step: int) -> bool:
        """Whether the method has finished with earlier batches when this one arrives."""
        return step >= self.free_at - ROUNDING

    def spend(self, step: int, cost: Mapping[str, Mapping[str, Any]], samples: int) -> None:
        """The method took this batch of so many samples, at this cost by phase."""
        self.free_at = step + forwards(cost, samples) / self.pace

    def reset(self) -> None:
        """A new episode begins with a method that has nothing to do."""
        self.free_at = 0.0

    def catch_up(self, steps: Sequence[Mapping[str, Any]]) -> None:
        """Go on after these steps, given by their records: what the last one that was not missed cost decides."""
        taken = next((step for step in reversed(steps) if not step["missed"]), None)
        if taken is not None:
            self.spend(taken["step"], taken["cost"], taken["samples"] + taken.get("foreign", 0))


def forwards(cost: Mapping[str, Mapping[str, Any]], samples: int) -> float:
    """What a step did, in forwards of its batch. A backward is taken to be as wide as the step's forwards."""
    phases = [phase for phase in cost.values() if "forwards" in phase]
    passes = sum(phase["forwards"] for phase in phases)
    through = sum(phase["samples"] for phase in phases)
    width = through / passes if passes else samples
    return float(through + BACKWARD * width * sum(phase["backwards"] for phase in phases)) / samples
