"""Greedy k-centre coreset of each class (Gonzalez 1985), kept up online."""

from typing import Literal

import numpy as np

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register, reject
from gotta.memory.rules import balance, geometry, score


@register("kcenter")
class KCenter(Policy):
    """In a full class the rows and the newcomer are traversed farthest first, from the one with the smallest H (age and
    uncertainty); the one that would come last leaves. A class with room in a full memory competes as in CSTU.

    Costs the square of the partition per sample: a yardstick for small memories. It balances by the labels it is given,
    which are predictions (`by = "pseudo"`); true labels exist only where an evaluation passes them in.

    `lambda_t` and `lambda_u` weigh age and uncertainty in H. `quota` is how many rows a class may have before its
    samples compete: capacity / classes as a `"real"` number, its `"floor"`, its `"ceil"`, or `"none"` for no limit.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.KCenter(), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    by: Literal["pseudo"] = "pseudo"
    lambda_t: float = 1.0
    lambda_u: float = 1.0
    quota: balance.Quota = "real"

    needs = ("label", "uncertainty", "embedding")

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        weights = self.lambda_t, self.lambda_u
        rivals = balance.rivals(table, new.label, self.quota)
        if rivals is None:
            return Decision(table.free(), Reason.ROOM)
        if rivals != [new.label]:
            return score.replace_worst(table, new, rivals, *weights)

        partition = table.members(new.label)
        points = np.vstack([table.embedding[partition], new.embedding])
        h_all = np.append(score.of_rows(table, partition, *weights), score.of_new(table, new.uncertainty, *weights))
        left_out = geometry.farthest_first(points, start=int(h_all.argmin()))[-1]
        if left_out == len(partition):
            return reject(Reason.REDUNDANT)
        return Decision(int(partition[left_out]), Reason.REPLACED_REDUNDANT)
