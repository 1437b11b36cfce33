"""Prediction-Balanced Reservoir Sampling (NOTE)."""

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register, reject
from gotta.memory.rules import balance


@register("pbrs")
class PBRS(Policy):
    """Fill first. Then a sample of a smaller class replaces a random row of a random largest class; a sample of a
    largest class replaces a random row of its own class with probability stored / offered of that class.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.PBRS(), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    needs = ("label",)

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        rivals = balance.rivals(table, new.label, quota="none")
        if rivals is None:
            return Decision(table.free(), Reason.ROOM)
        if rivals == [new.label] and rng.random() > table.holds(new.label) / table.offered(new.label):
            return reject(Reason.COIN)
        return Decision(balance.random_row(table, rivals, new.label, rng), Reason.REPLACED_RANDOM)
