"""Every k-th sample: neighbours in a video are nearly the same, so most of them say nothing new."""

from dataclasses import dataclass

import numpy as np

from gotta import GottaError
from gotta.memory import REJECT, Candidate, Decision, Policy, Table


@dataclass(frozen=True)
class Thinned(Policy):
    """Of every `every` samples the first is stored; when the memory is full the oldest row leaves."""

    every: int = 4

    def __post_init__(self) -> None:
        if self.every < 1:
            raise GottaError(f"every must be at least 1 (got {self.every}).")

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> Decision:
        if table.clock % self.every:
            return Decision(REJECT, "between")
        if table.full:
            return Decision(int(table.order[0]), "replaced oldest")
        return Decision(table.free(), "room")
