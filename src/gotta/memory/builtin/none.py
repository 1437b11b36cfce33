"""No memory: the current batch, whole."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gotta.memory.policy import Candidate, Decision, Policy, Reason, policies
from gotta.memory.table import Table


@policies.register("none")
@dataclass(frozen=True)
class NoMemory(Policy):
    """Adapt on the batch just observed: every row of it, in stream order, at age 0, whatever the capacity."""

    holds_batch: ClassVar[bool] = True

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> Decision:
        return Decision(table.free(), Reason.ROOM)
