"""No memory: the current batch, whole."""

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register


@register("none")
class NoMemory(Policy):
    """Adapt on the batch just observed: every row of it, in stream order, at age 0, whatever the capacity.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.NoMemory(), capacity=8, num_classes=2)
    >>> memory.observe([[1.0], [2.0]], label=[1, 0]).tolist()
    [0, 1]
    """

    holds_batch = True

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        return Decision(table.free(), Reason.ROOM)
