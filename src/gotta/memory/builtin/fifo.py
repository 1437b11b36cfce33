"""First in, first out."""

from dataclasses import dataclass

import numpy as np

from gotta.memory.policy import REPLACED_OLDEST, ROOM, Candidate, Decision, Policy, policies
from gotta.memory.table import Table


@policies.register("fifo")
@dataclass(frozen=True)
class FIFO(Policy):
    """Keep the most recent samples: when the memory is full the oldest row leaves."""

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> Decision:
        if not table.full:
            return Decision(table.free(), ROOM)
        return Decision(int(table.order[0]), REPLACED_OLDEST)
