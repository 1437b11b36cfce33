"""First in, first out."""

from dataclasses import dataclass

import numpy as np

from gotta.memory.policy import Candidate, Decision, Policy, Reason, policies
from gotta.memory.table import Table


@policies.register("fifo")
@dataclass(frozen=True)
class FIFO(Policy):
    """Keep the most recent samples: when the memory is full the oldest row leaves."""

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> Decision:
        if not table.full:
            return Decision(table.free(), Reason.ROOM)
        return Decision(int(table.order[0]), Reason.REPLACED_OLDEST)
