"""Multi-Cluster Memory (Tseng et al., 2026), from what its authors publish: no code is public."""

import numpy as np

from gotta.limits import Count, NotNegative
from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register, reject
from gotta.memory.rules import geometry, score
from gotta.memory.table import Floats, IntArray


@register("mcm")
class MCM(Policy):
    """Rows are grouped by the mean and deviation of their pixels. A newcomer joins the group with the nearest centre,
    or founds one if that is farther than `radius`. Of more than `clusters` groups the two nearest neighbours, in the
    order in which they were founded, become one.

    In a full memory all groups have an equal share: a newcomer to a smaller group replaces a row of the largest ones.
    One to a largest group competes in it by CSTU's rule: the row with the largest H of the group's most frequent class,
    or of its own if that is one, leaves if its H is larger than the newcomer's.

    `lambda_t` and `lambda_u` weigh age and uncertainty in H.

    >>> import gotta
    >>> memory = gotta.Memory(gotta.memory.MCM(clusters=8), capacity=8, num_classes=2)
    >>> len(memory), memory.capacity
    (0, 8)
    """

    clusters: Count = 4
    radius: NotNegative = 0.25
    lambda_t: float = 1.0
    lambda_u: float = 1.0

    needs = ("label", "uncertainty")
    keeps = ("descriptor", "group")

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        rows, weights = table.order, (self.lambda_t, self.lambda_u)
        groups, own, join = self.assign(table, rows, new)
        if not table.full:
            return Decision(table.free(), Reason.ROOM, group=own, join=join)
        if join is not None:
            groups = np.where(groups == join[1], join[0], groups)
        found, sizes = np.unique(groups, return_counts=True)
        held = int(sizes[found == own].sum())
        if held < sizes.max():
            rivals = [rows[groups == group] for group in found[sizes == sizes.max()]]
            candidates = np.concatenate([most_frequent(table, members) for members in rivals])
        else:
            candidates = most_frequent(table, rows[groups == own], new.label)
        oldest_first = candidates[np.argsort(table.born[candidates])].tolist()
        slot, h = score.first_worst(table, oldest_first, *weights)
        if held == sizes.max() and h <= score.of_new(table, new.uncertainty, *weights):
            return reject(Reason.CLASS_FULL)
        return Decision(slot, Reason.REPLACED_WORST, group=own, join=join)

    def assign(self, table: Table, rows: IntArray, new: Candidate) -> tuple[IntArray, int, tuple[int, int] | None]:
        """The group of each row and of the newcomer, and which two groups are to become one. Groups are named by when
        they were founded.
        """
        groups = table.group[rows]
        founded: list[int] = np.unique(groups).tolist()
        centres = [table.descriptor[rows[groups == group]].mean(0) for group in founded]
        if founded:
            away = distances(np.array(centres), new.descriptor)
            nearest = int(away.argmin())
            if away[nearest] <= self.radius:
                return groups, founded[nearest], None
        founded.append(table.clock)
        if len(founded) <= self.clusters:
            return groups, table.clock, None
        centres.append(new.descriptor)
        apart = [float(distances(centres[i : i + 1], centres[i + 1])[0]) for i in range(len(centres) - 1)]
        older = int(np.argmin(apart))
        if founded[older + 1] == table.clock:  # the newcomer's group joins the one before it at once
            return groups, founded[older], None
        return groups, table.clock, (founded[older], founded[older + 1])


def distances(points: Floats | list[Floats], point: Floats) -> Floats:
    return np.sqrt(geometry.squares(np.asarray(points) - point))


def most_frequent(table: Table, rows: IntArray, label: int | None = None) -> IntArray:
    """Those of some rows that are of the most frequent classes among them, or of one class if that is one of these."""
    classes, sizes = np.unique(table.label[rows], return_counts=True)
    largest = classes[sizes == sizes.max()]
    if label is not None and label in largest:
        largest = np.array([label])
    return rows[np.isin(table.label[rows], largest)]
