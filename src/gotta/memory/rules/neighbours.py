"""Who is closest to whom inside a class, by cosine similarity, kept up to date row by row."""

import numpy as np

from gotta.memory.rules.geometry import unit
from gotta.memory.table import FEW, Floats, IntArray, Table

TIE = 1e-12  # similarities this near are equal: the two ends of a pair, computed apart, may differ in the last digits
STALE = -1


class Neighbours:
    """For the rows of a class, oldest first: their directions, and how similar the most similar other row is.

    In a class of few rows the latter is computed when somebody asks; a larger one keeps it.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._unit = unit(table.embedding)  # the direction of each row
        self._few: dict[int, Floats] = {}  # for classes of few rows the answers, until such a class changes
        self._kept: dict[int, Kept] = {}  # the classes of more than a few rows

    def similarity(self, label: int, embedding: Floats) -> Floats:
        """Cosine similarity[N] of an embedding[D] to the N rows of a class."""
        return self._units(label) @ unit(embedding)

    def most_redundant(self, label: int, similarity: Floats) -> tuple[list[int], bool]:
        """The rows of a class that are closest to another row of it or to a newcomer with these similarities, oldest
        first; and whether the newcomer is as close as they are.
        """
        kept = self._kept.get(label)
        tied, top = most(self._closest_of_few(label), similarity) if kept is None else kept.most(similarity)
        members = self._table.members(label)
        return [int(members[at]) for at in tied], any(similarity[at] >= top for at in tied)

    def added(self, slot: int) -> None:
        direction = self._unit[slot] = unit(self._table.embedding[slot])
        if (kept := self._changed(slot)) is not None:
            kept.append(slot, direction)

    def removed(self, slot: int) -> None:
        if (kept := self._changed(slot)) is not None:
            kept.drop(slot)

    def _changed(self, slot: int) -> "Kept | None":
        """What is kept of the class of this row, which changes."""
        label = int(self._table.label[slot])
        self._few.pop(label, None)
        return self._kept.get(label)

    def _closest_of_few(self, label: int) -> Floats:
        found = self._few.get(label)
        if found is None:
            found = self._few[label] = closest_of(self._units(label))
        return found

    def _units(self, label: int) -> Floats:
        """The directions[N, D] of the rows of a class."""
        kept = self._kept.get(label)
        if kept is None:
            rows = self._table.members(label)
            units = self._unit.take(rows, 0)
            if len(rows) <= FEW:
                return units
            kept = self._kept[label] = Kept(rows, units)
        return kept.units


def most(closest: Floats, similarity: Floats) -> tuple[list[int], float]:
    """The positions whose larger value is the largest of all, or as good as; and what is as good as."""
    redundancy = np.maximum(closest, similarity)
    top = redundancy[redundancy.argmax()] - TIE
    return (redundancy >= top).nonzero()[0].tolist(), top


def closest_of(units: Floats) -> Floats:
    """For each of a few directions[N, D] the similarity to the most similar other one."""
    similarity = units @ units.T
    similarity.flat[:: len(units) + 1] = -np.inf
    closest: Floats = np.maximum.reduce(similarity, 1)
    return closest


class Kept:
    """The rows of one class side by side: slot, direction, similarity to the nearest other row, and that row's slot.

    Removing a neighbour can only lower a similarity, so the old value stays as an upper bound, marked stale, and is
    computed anew only if it is among the largest when somebody asks.
    """

    def __init__(self, slots: IntArray, units: Floats) -> None:
        size = len(slots)
        self._slots, self._units = with_space(slots), with_space(units)
        self._closest, self._neighbour = with_space(np.full(size, np.inf)), with_space(np.full(size, STALE))
        self._size = size

    @property
    def units(self) -> Floats:
        return self._units[: self._size]

    def most(self, similarity: Floats) -> tuple[list[int], float]:
        """The positions that are most redundant beside a newcomer with these similarities."""
        closest, neighbour = self._closest[: self._size], self._neighbour[: self._size]
        while True:
            tied, top = most(closest, similarity)
            stale = [at for at in tied if neighbour[at] == STALE and closest[at] >= top]
            if not stale:
                return tied, top
            for at in stale:
                self._search(at)

    def append(self, slot: int, direction: Floats) -> None:
        if self._size == len(self._slots):
            for name in ("_slots", "_units", "_closest", "_neighbour"):
                setattr(self, name, with_space(getattr(self, name)))
        last = self._size
        self._size += 1
        self._slots[last], self._units[last] = slot, direction
        similarity = self._search(last)
        closer = (similarity > self._closest[: self._size]).nonzero()[0]
        self._closest[closer] = similarity[closer]
        self._neighbour[closer] = slot

    def drop(self, slot: int) -> None:
        size = self._size
        at = int((self._slots[:size] == slot).argmax())
        for column in (self._slots, self._units, self._closest, self._neighbour):
            column[at : size - 1] = column[at + 1 : size]
        self._size = size - 1
        neighbour = self._neighbour[: self._size]
        neighbour[neighbour == slot] = STALE

    def _search(self, position: int) -> Floats:
        """Find the nearest row of one. Returns its similarity to all."""
        similarity: Floats = self.units @ self._units[position]
        similarity[position] = -np.inf
        nearest = similarity.argmax()
        self._closest[position] = similarity[nearest]
        self._neighbour[position] = self._slots[nearest]
        return similarity


def with_space(column: np.ndarray) -> np.ndarray:
    """A copy with room for as many rows again."""
    return np.concatenate([column, np.empty_like(column, shape=(len(column) + 8, *column.shape[1:]))])
