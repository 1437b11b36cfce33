"""Distances and similarities between a new sample and stored rows."""

from math import sqrt

import numpy as np

from gotta.memory.table import Floats, IntArray, Table

SMALL = 1e-300  # the paper's epsilon_0, against division by zero; so small that copies are all equally similar
MANY = 256  # above this, rough distances to all rows pick a few to be computed exactly


def squares(difference: Floats) -> Floats:
    """The sum[N] of squares of each row[N, D]."""
    total: Floats = np.einsum("nd,nd->n", difference, difference)
    return total


if hasattr(np, "vecdot"):  # NumPy 2: the same sum at half the cost of calling

    def squares(difference: Floats) -> Floats:
        total: Floats = np.vecdot(difference, difference)
        return total


def two_nearest(table: Table, rows: IntArray, embedding: Floats) -> tuple[int, float, float]:
    """The position of the nearest of some rows (the first of equal ones), its Euclidean distance, and that of the next.

    Where there are no such rows, they are infinitely far.
    """
    if not len(rows):
        return -1, np.inf, np.inf
    if len(rows) > MANY:
        near = table.index(Lengths).near(rows, embedding)
        found, first, second = exactly_two_nearest(table, rows[near], embedding)
        return int(near[found]), first, second
    return exactly_two_nearest(table, rows, embedding)


def exactly_two_nearest(table: Table, rows: IntArray, embedding: Floats) -> tuple[int, float, float]:
    square = squares(table.embedding.take(rows, 0) - embedding)
    found = int(square.argmin())
    first = sqrt(square[found])
    square[found] = np.inf
    return found, first, sqrt(square[square.argmin()])


class Lengths:
    """The squared length of each row, which makes rough distances to many rows one product of matrix and vector."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._square = squares(table.embedding)

    def added(self, slot: int) -> None:
        row = self._table.embedding[slot]
        self._square[slot] = row.dot(row)

    def removed(self, slot: int) -> None:
        pass

    def near(self, rows: IntArray, embedding: Floats) -> IntArray:
        """The positions of the few rows that may be the nearest or the next nearest."""
        length = embedding.dot(embedding)
        rough = self._square.take(rows) + length
        rough -= self._table.embedding.take(rows, 0) @ (2.0 * embedding)
        first = rough.argmin()
        smallest, rough[first] = rough[first], np.inf
        bar = rough[rough.argmin()]
        rough[first] = smallest
        # |a|^2 - 2ab + |b|^2 loses digits where a and b are near; the margin is far above that loss.
        return np.flatnonzero(rough <= bar + 1e-11 * (length + abs(bar)))


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
    """A vector[D], or each of some vectors[N, D], scaled to length 1; zero stays zero."""
    if embedding.ndim == 1:
        return np.asarray(embedding / (sqrt(embedding.dot(embedding)) + SMALL))
    return np.asarray(embedding / (np.sqrt(squares(embedding)) + SMALL)[:, None])
