"""Class-balanced first in, first out."""

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register
from gotta.memory.rules import balance


@register("cbfifo")
class CBFIFO(Policy):
    """Fill first. Then every sample enters, and the oldest row of the largest classes leaves; if the sample's own
    class is among them, the oldest row of that class.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.CBFIFO(), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    needs = ("label",)

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        rivals = balance.rivals(table, new.label, quota="none")
        if rivals is None:
            return Decision(table.free(), Reason.ROOM)
        rows = table.rows_of(rivals)
        return Decision(int(rows[table.born[rows].argmin()]), Reason.REPLACED_OLDEST)
