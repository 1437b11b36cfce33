"""Reliable class-Balanced Memory (STAMP), without its filter by agreement of augmented views."""

from collections.abc import Mapping
from math import log

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register, reject
from gotta.memory.table import Floats


@register("rbm")
class RBM(Policy):
    """Only samples with an entropy below `alpha` ln C enter; in a full memory they replace the oldest row of the class
    that was largest of late, by counts averaged over the readings of the memory with the given `momentum`.

    The authors also ask that the adapted and the source model agree over several augmented views. That takes forwards
    that a memory does not make, so it is left out here.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.RBM(alpha=0.4), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    alpha: float = 0.5
    momentum: float = 0.9

    needs = ("label", "uncertainty")
    vectors = ("moving_count",)

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        if new.uncertainty >= self.alpha * log(table.num_classes):
            return reject(Reason.UNCERTAIN)
        if not table.full:
            return Decision(table.free(), Reason.ROOM)
        held = table.count.nonzero()[0]
        moving = table.vectors["moving_count"][held]
        largest = held[moving == moving.max()]
        label = largest[rng.integers(len(largest))]
        return Decision(int(table.members(int(label))[0]), Reason.REPLACED_OLDEST)

    def after_read(self, table: Table) -> Mapping[str, Floats]:
        moving = table.vectors["moving_count"]
        return {"moving_count": self.momentum * moving + (1.0 - self.momentum) * table.count}
