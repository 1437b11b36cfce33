"""The paper's eviction score H: old and uncertain rows leave first. Larger means less worth keeping."""

from bisect import bisect_left, bisect_right
from functools import cache
from math import exp, inf, log

import numpy as np

from gotta.memory.policy import Candidate, Decision, Reason, reject
from gotta.memory.table import FEW, Floats, IntArray, Table

NEAR = 1e-9  # uncertainties this near do not decide which of two rows has the larger H
FEW_CLASSES = 16

Row = tuple[int, float, int]  # born, uncertainty, slot


def heuristic(table: Table, age: int, uncertainty: float, lambda_t: float, lambda_u: float) -> float:
    """H = lambda_t / (1 + exp(-age / capacity)) + lambda_u * uncertainty / ln(num_classes)."""
    return lambda_t / (1.0 + exp(-age / table.capacity)) + lambda_u * uncertainty / scale(table.num_classes)


def of_new(table: Table, uncertainty: float, lambda_t: float, lambda_u: float) -> float:
    """H of the sample on offer, whose age is 0."""
    return heuristic(table, 0, uncertainty, lambda_t, lambda_u)


def of_row(table: Table, slot: int, lambda_t: float, lambda_u: float) -> float:
    """H of one stored row."""
    return heuristic(table, table.clock - int(table.born[slot]), float(table.uncertainty[slot]), lambda_t, lambda_u)


def of_rows(table: Table, rows: IntArray, lambda_t: float, lambda_u: float) -> Floats:
    """H of many stored rows."""
    time = lambda_t / (1.0 + np.exp((table.born[rows] - table.clock) / table.capacity))
    return time + lambda_u * table.uncertainty[rows] / scale(table.num_classes)


@cache
def scale(num_classes: int) -> float:
    """ln(num_classes), the largest possible entropy. One class has none, so ln 2 stands in to keep H finite."""
    return log(max(num_classes, 2))


def worst(table: Table, classes: list[int], lambda_t: float, lambda_u: float) -> tuple[int, float]:
    """The row with the largest H in these classes, and its H; of equal ones the last of the highest class.

    RoTTA scans classes ascending, rows in insertion order, and keeps the last of equal ones.
    """
    if len(classes) > FEW_CLASSES or not 0.0 <= lambda_t <= 1000.0 * lambda_u:
        return worst_of_rows(table, table.rows_of(classes), lambda_t, lambda_u)
    frontier, clock, capacity = table.index(Frontier), table.clock, table.capacity
    weight = scale(table.num_classes)
    found, largest = -1, -inf
    for label in classes:
        for born, uncertainty, slot in frontier.of(label):
            h = lambda_t / (1.0 + exp((born - clock) / capacity)) + lambda_u * uncertainty / weight
            if h >= largest:
                found, largest = slot, h
    return found, largest


def replace_worst(table: Table, new: Candidate, rivals: list[int], lambda_t: float, lambda_u: float) -> Decision:
    """CSTU's rule: the row of the rivals with the largest H leaves, if that is larger than the newcomer's."""
    slot, h = worst(table, rivals, lambda_t, lambda_u)
    if h > of_new(table, new.uncertainty, lambda_t, lambda_u):
        return Decision(slot, Reason.REPLACED_WORST)
    return reject(Reason.CLASS_FULL if rivals == [new.label] else Reason.MEMORY_FULL)


def worst_of_rows(table: Table, rows: IntArray, lambda_t: float, lambda_u: float) -> tuple[int, float]:
    """The same, by looking at each of the rows."""
    h = of_rows(table, rows, lambda_t, lambda_u)
    largest = h[h.argmax()]
    tied = rows[h == largest]
    last = np.lexsort((table.born[tied], table.label[tied]))[-1] if len(tied) > 1 else 0
    return int(tied[last]), float(largest)


def first_worst(table: Table, rows: list[int], lambda_t: float, lambda_u: float) -> tuple[int, float]:
    """Of a few rows, oldest first, the one with the largest H, and its H; of equal ones the oldest."""
    scores = [of_row(table, slot, lambda_t, lambda_u) for slot in rows]
    largest = max(scores)
    return rows[scores.index(largest)], largest


class Frontier:
    """The rows of each class that can have its largest H: those more uncertain than, or near, every older one.

    A row that is younger and clearly more certain than another has the smaller H now and at any later time, for weights
    that are not negative. A class keeps few such rows, so the worst is found without looking at all.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._rows: dict[int, list[Row]] = {}  # of each class, oldest first

    def of(self, label: int) -> list[Row]:
        found = self._rows.get(label)
        if found is None:
            found = self._rows[label] = self._search(self._table.members(label))
        return found

    def added(self, slot: int) -> None:
        table = self._table
        rows = self._rows.get(int(table.label[slot]))
        uncertainty = float(table.uncertainty[slot])
        if rows is not None and (not rows or uncertainty >= rows[-1][1] - NEAR):
            rows.append((int(table.born[slot]), uncertainty, slot))

    def removed(self, slot: int) -> None:
        label, born = int(self._table.label[slot]), int(self._table.born[slot])
        rows = self._rows.get(label)
        if not rows:
            return
        at = bisect_left(rows, (born, -inf, -1))
        if at == len(rows) or rows[at][2] != slot:
            return
        members = self._table.members(label)
        if len(members) <= FEW:
            del self._rows[label]  # searched again when somebody asks
            return
        # Only rows between it and the next one can have stood in its shadow.
        start = bisect_right(members, born, key=self._table.born.__getitem__)
        after = rows[at + 1][0] if at + 1 < len(rows) else self._table.clock + 1
        stop = bisect_left(members, after, lo=start, key=self._table.born.__getitem__)
        rows[at : at + 1] = self._search(members[start:stop], rows[at - 1][1] - NEAR if at else -inf)

    def _search(self, slots: IntArray, bar: float = -inf) -> list[Row]:
        """Those of some rows, oldest first, that are at least as uncertain as the bar and all before them, nearly."""
        uncertainty = self._table.uncertainty[slots]
        if len(slots) > FEW:
            slots = slots[(uncertainty >= np.maximum.accumulate(uncertainty) - NEAR) & (uncertainty >= bar)]
            uncertainty = self._table.uncertainty[slots]
        kept: list[Row] = []
        for row in zip(self._table.born[slots].tolist(), uncertainty.tolist(), slots.tolist(), strict=True):
            if row[1] >= bar:
                kept.append(row)
                bar = row[1] - NEAR
        return kept
