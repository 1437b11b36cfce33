"""Distances and similarities between a new sample and stored rows."""

from math import sqrt

import numpy as np

from gotta.memory.table import FEW, Floats, IntArray, Table

SMALL = 1e-12  # the paper's epsilon_0, against division by zero
TIE = 1e-12  # similarities this near are equal: the two ends of a pair, computed apart, may differ in the last digits


def squares(difference: Floats) -> Floats:
    """The sum[N] of squares of each row[N, D]."""
    total: Floats = np.einsum("nd,nd->n", difference, difference)
    return total


if hasattr(np, "vecdot"):  # NumPy 2: the same sum at half the cost of calling

    def squares(difference: Floats) -> Floats:
        total: Floats = np.vecdot(difference, difference)
        return total


def distances(table: Table, rows: IntArray, embedding: Floats) -> Floats:
    """Euclidean distance[N] of an embedding[D] to rows[N]."""
    return np.sqrt(squares(table.embedding.take(rows, 0) - embedding))


def nearest(distance: Floats) -> tuple[int, float]:
    """The position and the distance of the nearest row, the first of equal ones; no row is infinitely far."""
    if not len(distance):
        return -1, np.inf
    position = int(distance.argmin())
    return position, float(distance[position])


def farthest_first(points: Floats, start: int) -> list[int]:
    """All points[N, D] in greedy order: each next one is the farthest from those before it, the first of equal ones."""
    order = [start]
    away = np.full(len(points), np.inf)
    while len(order) < len(points):
        away = np.minimum(away, squares(points - points[order[-1]]))
        away[order] = -1.0
        order.append(int(away.argmax()))
    return order


def unit(embedding: Floats) -> Floats:
    """A vector[D] scaled to length 1; zero stays zero."""
    scaled: Floats = embedding / (sqrt(embedding.dot(embedding)) + SMALL)
    return scaled


class Neighbours:
    """For each row the largest cosine similarity to another row of its class.

    In a class of few rows it is computed when somebody asks. In a larger one it is kept up to date row by row: removing
    a neighbour can only lower it, so the old value stays as an upper bound, marked stale, and is computed anew only if
    it is among the largest when somebody asks.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._unit = np.zeros_like(table.embedding)
        self._closest = np.full(table.capacity, np.inf)  # similarity to the nearest row, or a bound on it
        self._neighbour = np.full(table.capacity, -1)  # the slot of that row; -1 = stale
        self._kept: set[int] = set()  # the classes that are kept up to date
        for slot in np.flatnonzero(table.filled):
            self._unit[slot] = unit(table.embedding[slot])

    def similarity(self, label: int, embedding: Floats) -> Floats:
        """Cosine similarity[N] of an embedding[D] to the N rows of a class."""
        similarity: Floats = self._unit.take(self._table.members(label), 0) @ unit(embedding)
        return similarity

    def most_redundant(self, label: int, similarity: Floats) -> tuple[IntArray, bool]:
        """The rows of a class that are closest to another row of it or to a newcomer with these similarities, oldest
        first; and whether the newcomer is as close as they are.
        """
        rows = self._table.members(label)
        closest = self._of_few(rows) if len(rows) <= FEW else self._of_many(label, rows, similarity)
        redundancy = np.maximum(closest, similarity)
        top = redundancy[redundancy.argmax()] - TIE
        return rows[redundancy >= top], bool(similarity[similarity.argmax()] >= top)

    def added(self, slot: int) -> None:
        self._unit[slot] = unit(self._table.embedding[slot])
        if int(self._table.label[slot]) in self._kept:
            rows, similarity = self._search(slot)
            closer = similarity > self._closest[rows]
            self._closest[rows[closer]] = similarity[closer]
            self._neighbour[rows[closer]] = slot

    def removed(self, slot: int) -> None:
        label = int(self._table.label[slot])
        if label in self._kept:
            rows = self._table.members(label)
            self._neighbour[rows[self._neighbour[rows] == slot]] = -1

    def _of_few(self, rows: IntArray) -> Floats:
        units = self._unit.take(rows, 0)
        similarity = units @ units.T
        similarity.flat[:: len(rows) + 1] = -np.inf
        closest: Floats = np.maximum.reduce(similarity, 1)
        return closest

    def _of_many(self, label: int, rows: IntArray, similarity: Floats) -> Floats:
        """Right for the rows that are most redundant, an upper bound for the others."""
        if label not in self._kept:
            self._kept.add(label)
            self._closest[rows], self._neighbour[rows] = np.inf, -1
        while True:
            closest = self._closest[rows]
            top = max(closest.max(), similarity.max()) - TIE
            stale = rows[(self._neighbour[rows] < 0) & (closest >= top)]
            if not len(stale):
                return closest
            for slot in stale.tolist():
                self._search(slot)

    def _search(self, slot: int) -> tuple[IntArray, Floats]:
        """Find the nearest row of a stored one. Returns the rows of its class and the similarities to them."""
        rows = self._table.members(int(self._table.label[slot]))
        similarity: Floats = self._unit.take(rows, 0) @ self._unit[slot]
        similarity[rows == slot] = -np.inf
        nearest = int(similarity.argmax())
        self._closest[slot] = similarity[nearest]
        self._neighbour[slot] = rows[nearest]
        return rows, similarity
