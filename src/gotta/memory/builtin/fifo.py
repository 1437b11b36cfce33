"""First in, first out."""

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register


@register("fifo")
class FIFO(Policy):
    """Keep the most recent samples: when the memory is full the oldest row leaves.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.FIFO(), capacity=2, num_classes=10)
    >>> memory.observe([[1.0], [2.0], [3.0]], label=[4, 1, 4]).tolist()
    [0, 1, 0]
    """

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        if not table.full:
            return Decision(table.free(), Reason.ROOM)
        return Decision(int(table.order[0]), Reason.REPLACED_OLDEST)
