"""A policy put together from named rules, for ablations: who competes, who would leave, and when that happens."""

from typing import Literal

from gotta.limits import NotNegative
from gotta.memory.builtin.fps import Against
from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register, reject
from gotta.memory.rules import balance, geometry, score


@register("composed")
class Composed(Policy):
    """`allocate` says with whom a newcomer competes: `all` rows of a full memory; the `largest` classes of a full
    memory, or its own if that is one of them; or, by `quota`, also its own class as soon as that is full.

    `evict` says who of these would leave: the `oldest`, a `random` one, the `worst` by H, or the `nearest` of the
    newcomer's class (the worst, where other classes compete).

    `admit` says when that happens: `always`; by a `coin` that keeps a uniform sample; if the newcomer is `better` by H;
    or if it is better and `diverse`, farther than `epsilon` from the rows of its class: from `against="all"` of them,
    or only from those `remaining` once the leaving row has left.

    fifo = all, oldest, always. reservoir = all, random, coin. pbrs = largest, random, coin.
    cstu = quota, worst, better. fps = quota, nearest, diverse.

    `lambda_t` and `lambda_u` weigh age and uncertainty in H.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.Composed(evict="oldest", admit="always"), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    allocate: Literal["all", "largest", "quota"] = "quota"
    evict: Literal["oldest", "random", "worst", "nearest"] = "worst"
    admit: Literal["always", "coin", "better", "diverse"] = "better"
    epsilon: NotNegative = 0.005
    lambda_t: float = 1.0
    lambda_u: float = 1.0
    quota: balance.Quota = "real"
    against: Against = "all"

    needs = ("label", "uncertainty", "embedding")

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        rivals = self.rivals(table, new)
        if rivals is None:
            accept = Decision(table.free(), Reason.ROOM)
        else:
            if self.admit == "coin" and not self.coin(table, new, rivals, rng):
                return reject(Reason.COIN)
            accept = self.victim(table, new, rivals, rng)
            if self.admit in ("better", "diverse") and not self.better(table, new, accept):
                if accept.reason == Reason.REPLACED_NEAREST:
                    return reject(Reason.WORSE_THAN_NEAREST)
                return reject(Reason.CLASS_FULL if rivals == [new.label] else Reason.MEMORY_FULL)
        return accept if self.admit != "diverse" or self.diverse(table, new, accept) else reject(Reason.REDUNDANT)

    def rivals(self, table: Table, new: Candidate) -> list[int] | None:
        if self.allocate != "all":
            return balance.rivals(table, new.label, self.quota if self.allocate == "quota" else "none")
        held: list[int] = table.count.nonzero()[0].tolist()
        return held if table.full else None

    def coin(self, table: Table, new: Candidate, rivals: list[int], rng: Rng) -> bool:
        """Reservoir sampling's: the share of what was offered that is stored, of all or of the newcomer's class."""
        if self.allocate == "all":
            return bool(rng.random() <= table.capacity / (table.clock + 1))
        return rivals != [new.label] or bool(rng.random() <= table.holds(new.label) / table.offered(new.label))

    def victim(self, table: Table, new: Candidate, rivals: list[int], rng: Rng) -> Decision:
        if self.evict == "oldest":
            first = [int(table.members(label)[0]) for label in rivals]
            return Decision(min(first, key=table.born.__getitem__), Reason.REPLACED_OLDEST)
        if self.evict == "random":
            if self.allocate == "all":
                return Decision(int(table.order[rng.integers(len(table))]), Reason.REPLACED_RANDOM)
            return Decision(balance.random_row(table, rivals, new.label, rng), Reason.REPLACED_RANDOM)
        if self.evict == "nearest" and new.label in rivals:
            partition = table.members(new.label)
            position, _, _ = geometry.two_nearest(table, partition, new.embedding)
            return Decision(int(partition[position]), Reason.REPLACED_NEAREST)
        return Decision(score.worst(table, rivals, self.lambda_t, self.lambda_u)[0], Reason.REPLACED_WORST)

    def better(self, table: Table, new: Candidate, accept: Decision) -> bool:
        """The newcomer's H is smaller than the leaving row's; the nearest neighbour leaves at equal H, as in FPS."""
        stored = score.of_row(table, accept.slot, self.lambda_t, self.lambda_u)
        own = score.of_new(table, new.uncertainty, self.lambda_t, self.lambda_u)
        return stored >= own if accept.reason == Reason.REPLACED_NEAREST else stored > own

    def diverse(self, table: Table, new: Candidate, accept: Decision) -> bool:
        asked = table.members(new.label)
        if self.against == "remaining":
            asked = asked[asked != accept.slot]
        return geometry.two_nearest(table, asked, new.embedding)[1] > self.epsilon
