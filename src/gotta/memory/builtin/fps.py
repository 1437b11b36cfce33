"""Farthest Point Sampling: the paper's online nearest-neighbour diversity filter with eviction; and FPSD."""

from typing import Literal

from gotta.limits import NotNegative
from gotta.memory.policy import REJECT, Candidate, Decision, Policy, Reason, Rng, Table, register, reject
from gotta.memory.rules import balance, geometry, score

Against = Literal["all", "remaining"]


@register("fps")
class FPS(Policy):
    """In a full class the newcomer replaces its nearest neighbour if that one's H (age and uncertainty) is no smaller;
    in a full memory, the row with the largest H of the largest classes if that is larger than its own. Either way it
    enters only if it is farther than `epsilon` from every row of its class.

    Two points of the paper can be read in two ways. `against` says which rows epsilon is asked of: `all` of the class,
    as the paper's formula has it, or only those `remaining` once the nearest has left. `order` says what a newcomer
    that is too near does: with `check_first` nothing; with `evict_first` its nearest neighbour has left by then, so
    that both are gone.

    `lambda_t` and `lambda_u` weigh age and uncertainty in H. `quota` is how many rows a class may have before its
    samples compete: capacity / classes as a `"real"` number, its `"floor"`, its `"ceil"`, or `"none"` for no limit.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.FPS(epsilon=0.01), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    epsilon: NotNegative = 0.005
    lambda_t: float = 1.0
    lambda_u: float = 1.0
    quota: balance.Quota = "real"
    against: Against = "all"
    order: Literal["check_first", "evict_first"] = "check_first"

    needs = ("label", "uncertainty", "embedding")

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        weights = self.lambda_t, self.lambda_u
        partition = table.members(new.label)
        nearest, distance, next_distance = geometry.two_nearest(table, partition, new.embedding)

        rivals = balance.rivals(table, new.label, self.quota)
        refuse = reject(Reason.REDUNDANT)
        if rivals is None:
            accept = Decision(table.free(), Reason.ROOM)
        elif rivals == [new.label]:
            accept = Decision(int(partition[nearest]), Reason.REPLACED_NEAREST)
            if score.of_row(table, accept.slot, *weights) < score.of_new(table, new.uncertainty, *weights):
                return reject(Reason.WORSE_THAN_NEAREST)
            if self.against == "remaining":
                distance = next_distance
            if self.order == "evict_first":
                refuse = Decision(REJECT, Reason.REDUNDANT, clear=accept.slot)
        else:
            accept = score.replace_worst(table, new, rivals, *weights)
            if accept.slot == REJECT:
                return accept
        return accept if distance > self.epsilon else refuse


@register("fpsd")
class FPSD(FPS):
    """FPS in a memory that refreshes its stored predictions every 10 adaptations: a name, not another rule.

    The arguments are those of `FPS`: `epsilon`, `lambda_t`, `lambda_u`, `quota`, `against` and `order`.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.FPSD(epsilon=0.01), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    refresh_every = 10
