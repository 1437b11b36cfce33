"""Class-balanced first in, first out."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gotta.memory.policy import Candidate, Decision, Policy, Reason, policies
from gotta.memory.rules import balance
from gotta.memory.table import Table


@policies.register("cbfifo")
@dataclass(frozen=True)
class CBFIFO(Policy):
    """Fill first. Then every sample enters, and the oldest row of the largest classes leaves; if the sample's own
    class is among them, the oldest row of that class.
    """

    needs: ClassVar[tuple[str, ...]] = ("label",)

    def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> Decision:
        rivals = balance.rivals(table, new.label, quota="none")
        if rivals is None:
            return Decision(table.free(), Reason.ROOM)
        rows = table.rows_of(rivals)
        return Decision(int(rows[table.born[rows].argmin()]), Reason.REPLACED_OLDEST)
