"""Category-balanced Sampling with Timeliness and Uncertainty (RoTTA)."""

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register
from gotta.memory.rules import balance, score


@register("cstu")
class CSTU(Policy):
    """The newcomer replaces the oldest and most uncertain row (the largest H) of its full class, or of the largest
    classes of a full memory, if that row has a larger H than itself.

    `lambda_t` and `lambda_u` weigh age and uncertainty in H. `quota` is how many rows a class may have before its
    samples compete: capacity / classes as a `"real"` number, its `"floor"`, its `"ceil"`, or `"none"` for no limit.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.CSTU(lambda_u=2.0), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    lambda_t: float = 1.0
    lambda_u: float = 1.0
    quota: balance.Quota = "real"

    needs = ("label", "uncertainty")

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        rivals = balance.rivals(table, new.label, self.quota)
        if rivals is None:
            return Decision(table.free(), Reason.ROOM)
        return score.replace_worst(table, new, rivals, self.lambda_t, self.lambda_u)
