"""Cosine Diversity Sampling."""

from typing import Literal

from gotta.limits import Count, NotNegative
from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register, reject
from gotta.memory.rules import balance, score
from gotta.memory.rules.neighbours import Neighbours


@register("cds")
class CDS(Policy):
    """A newcomer to a full class is redundant if its cosine similarity to a row of it is 1 - `epsilon` or more. If not,
    the most redundant of rows and newcomer leaves: of the closest pair the one with the larger H (age and uncertainty),
    of equal H the one stored earlier. Where there are not two rows to compare, and in a full memory, CSTU's rule
    decides.

    The two of the closest pair are always equally redundant, and the paper does not say which leaves: by `ties` it is
    the one with the larger H (`score`), the one stored `earlier`, or the `later` one, the newcomer before all others.
    `one_row` says what happens in a class of one row: `cstu`, or the same rule as in larger classes (`compare`).
    `subset` compares the newcomer with that many random rows of the class in the first test; None means with all.

    `lambda_t` and `lambda_u` weigh age and uncertainty in H. `quota` is how many rows a class may have before its
    samples compete: capacity / classes as a `"real"` number, its `"floor"`, its `"ceil"`, or `"none"` for no limit.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.CDS(epsilon=0.01), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    epsilon: NotNegative = 0.005
    subset: Count | None = None
    lambda_t: float = 1.0
    lambda_u: float = 1.0
    quota: balance.Quota = "real"
    ties: Literal["score", "earlier", "later"] = "score"
    one_row: Literal["cstu", "compare"] = "cstu"

    needs = ("label", "uncertainty", "embedding")

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        weights = self.lambda_t, self.lambda_u
        rivals = balance.rivals(table, new.label, self.quota)
        if rivals is None:
            return Decision(table.free(), Reason.ROOM)
        partition = table.members(new.label)
        if rivals != [new.label] or (len(partition) < 2 and self.one_row == "cstu"):
            return score.replace_worst(table, new, rivals, *weights)

        neighbours = table.index(Neighbours)
        similarity = neighbours.similarity(new.label, new.embedding)
        compared = similarity
        if self.subset is not None:
            compared = rng.choice(similarity, min(self.subset, len(similarity)), replace=False)
        if compared[compared.argmax()] >= 1.0 - self.epsilon:
            return reject(Reason.REDUNDANT)

        tied, newcomer_tied = neighbours.most_redundant(new.label, similarity)
        if self.ties == "earlier":
            return Decision(tied[0], Reason.REPLACED_REDUNDANT)
        if self.ties == "later":
            return reject(Reason.REDUNDANT) if newcomer_tied else Decision(tied[-1], Reason.REPLACED_REDUNDANT)
        slot, h = score.first_worst(table, tied, *weights)
        if newcomer_tied and score.of_new(table, new.uncertainty, *weights) > h:
            return reject(Reason.REDUNDANT)
        return Decision(slot, Reason.REPLACED_REDUNDANT)
