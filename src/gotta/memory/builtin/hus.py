"""High-confidence Uniform-class Sampling (SoTTA)."""

from math import log10

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register, reject
from gotta.memory.rules import balance

PUBLISHED = {10: 0.99, 100: 0.66, 1000: 0.33}  # thresholds by the number of classes


@register("hus")
class HUS(Policy):
    """Only samples predicted with confidence enter; in a full memory they always replace a random row, of their own
    class if it is a largest one, of a random largest class otherwise.

    The confidence is the largest entry of the embedding, which therefore must be the softmax vector. A `threshold`
    that is left open is the authors': 0.99 for 10 classes, 0.66 for 100, 0.33 for 1000, and between them by the
    logarithm.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.HUS(), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    threshold: float | None = None

    needs = ("label", "embedding")
    needs_probs = True

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        if new.embedding.max() < self.threshold_for(table.num_classes):
            return reject(Reason.UNCERTAIN)
        rivals = balance.rivals(table, new.label, quota="none")
        if rivals is None:
            return Decision(table.free(), Reason.ROOM)
        return Decision(balance.random_row(table, rivals, new.label, rng), Reason.REPLACED_RANDOM)

    def threshold_for(self, num_classes: int) -> float:
        if self.threshold is not None:
            return self.threshold
        return PUBLISHED.get(num_classes) or min(0.99, max(0.33, 0.99 - 0.33 * (log10(num_classes) - 1)))

    def notes(self, num_classes: int) -> list[str]:
        if self.threshold is not None or num_classes in PUBLISHED:
            return []
        given, classes = (", ".join(map(str, part)) for part in (PUBLISHED.values(), PUBLISHED))
        return [
            f"hus takes a threshold of {self.threshold_for(num_classes):.2f} for {num_classes} classes; its authors "
            f"gave {given} for {classes}."
        ]
