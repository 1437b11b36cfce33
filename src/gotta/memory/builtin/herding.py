"""Herding (Welling 2009), kept up online: rows whose mean is the mean of everything that was offered."""

import numpy as np

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register, reject
from gotta.memory.rules import balance, geometry
from gotta.memory.table import Floats


@register("herding")
class Herding(Policy):
    """In a full class that one of rows and newcomer leaves without which the mean embedding of the others is nearest to
    that of all samples offered of the class. A class with room in a full memory takes a row of the largest classes, by
    the same rule.

    Where gradients go with the embedding, a step on such rows is a step on the stream. Of equal ones the one stored
    first leaves.

    `quota` is how many rows a class may have before it is full: capacity / classes as a `"real"` number, its `"floor"`,
    its `"ceil"`, or `"none"` for no limit.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.Herding(), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    quota: balance.Quota = "real"

    needs = ("label", "embedding")
    keeps = ("mean",)

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        rivals = balance.rivals(table, new.label, self.quota)
        if rivals is None:
            return Decision(table.free(), Reason.ROOM)
        if rivals == [new.label]:
            rows = table.members(new.label)
            points = np.vstack([table.embedding[rows], new.embedding])
            leaving = int(distances_without(points, table.mean[new.label]).argmin())
            if leaving == len(rows):
                return reject(Reason.REDUNDANT)
            return Decision(int(rows[leaving]), Reason.REPLACED_REDUNDANT)
        slots = table.rows_of(rivals)
        slots = slots[np.argsort(table.born[slots])]
        away = np.empty(len(slots))
        for label in rivals:
            own = table.label[slots] == label
            away[own] = distances_without(table.embedding[slots[own]], table.mean[label])
        return Decision(int(slots[away.argmin()]), Reason.REPLACED_REDUNDANT)


def distances_without(points: Floats, target: Floats) -> Floats:
    """For each of points[N, D] the squared distance[N] from the target to the mean of the others; 0 if it is alone."""
    if len(points) == 1:
        return np.zeros(1)
    return geometry.squares((points.sum(0) - points) / (len(points) - 1) - target)
