"""Low-entropy sampling (ResiTTA)."""

from math import log

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register, reject
from gotta.memory.rules import balance


@register("lowentropy")
class LowEntropy(Policy):
    """Only samples with an entropy below `margin` ln C enter; in a full memory they replace a random row of a random
    largest class, whatever their own class is.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.LowEntropy(margin=0.3), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    margin: float = 0.4

    needs = ("label", "uncertainty")

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        if new.uncertainty >= self.margin * log(table.num_classes):
            return reject(Reason.UNCERTAIN)
        if not table.full:
            return Decision(table.free(), Reason.ROOM)
        return Decision(balance.random_row(table, table.largest(), -1, rng), Reason.REPLACED_RANDOM)
