"""Reservoir sampling (Vitter 1985, as NOTE implements it)."""

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register, reject


@register("reservoir")
class Reservoir(Policy):
    """Keep a uniformly random subset of everything offered: sample n enters with probability capacity / n.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.Reservoir(), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        if not table.full:
            return Decision(table.free(), Reason.ROOM)
        offered = table.clock + 1  # this sample included
        if rng.random() > table.capacity / offered:
            return reject(Reason.COIN)
        return Decision(int(table.order[int(rng.integers(table.capacity))]), Reason.REPLACED_RANDOM)
