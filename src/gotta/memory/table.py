"""What a memory knows of its rows, as columns; age is `clock - born`, so ageing costs nothing."""

from bisect import bisect_left
from collections import defaultdict
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Floats = NDArray[np.float64]
Logged = tuple[int | IntArray, list[tuple[Any, Any]]]  # rows, and of each column what they were in it

COLUMNS = ("label", "uncertainty", "embedding", "born")
FURTHER = ("descriptor", "group")  # columns that are kept where a policy asks for them

NO_ROWS: IntArray = np.empty(0, np.int64)
FEW = 64  # up to here a scan of a list is quicker than a binary search


class Order:
    """Slots in insertion order. Dropping one moves the shorter side, so the first and the last leave at no cost."""

    __slots__ = ("_slots", "_start", "_stop")

    def __init__(self, slots: IntArray = NO_ROWS) -> None:
        self._slots = np.concatenate([slots, np.empty(8, np.int64)])
        self._start, self._stop = 0, len(slots)

    def __len__(self) -> int:
        return self._stop - self._start

    def view(self) -> IntArray:
        return self._slots[self._start : self._stop]

    def append(self, slot: int) -> None:
        if self._stop == len(self._slots):
            kept = self.view()
            self._slots = np.empty(2 * len(kept) + 8, np.int64)
            self._slots[: len(kept)] = kept
            self._start, self._stop = 0, len(kept)
        self._slots[self._stop] = slot
        self._stop += 1

    def position(self, slot: int, born: IntArray) -> int:
        """Where a slot stands. Births ascend along the order, so a long one is searched by halves."""
        slots = self.view()
        if slots[0] == slot:
            return 0
        if len(slots) <= FEW:
            return int(slots.tolist().index(slot))
        return bisect_left(slots, born[slot], key=born.__getitem__)

    def drop(self, position: int) -> None:
        slots, start, stop = self._slots, self._start, self._stop
        at = start + position
        if position < stop - at:
            slots[start + 1 : at + 1] = slots[start:at]
            self._start += 1
        else:
            slots[at : stop - 1] = slots[at + 1 : stop]
            self._stop -= 1


class Index(Protocol):
    """Something derived from the rows that the table keeps up to date, such as nearest neighbours."""

    def __init__(self, table: "Table") -> None: ...

    def added(self, slot: int) -> None: ...

    def removed(self, slot: int) -> None: ...


Kind = TypeVar("Kind", bound=Index)


class Table:
    """`capacity` rows with label, uncertainty, embedding, born, filled; `count` and `seen` per class; a sample clock.

    Policies read it; only the memory writes. A label of -1 means that none was given; such rows belong to no class.
    Embeddings are kept in float64, in which distances between given float32 values are exact enough to compare.
    `keeps` names what a policy wants besides: `descriptor` and `group` of each row, and the `mean` embedding of all
    samples offered of each class.

    `capacity` and `num_classes` are the memory's, `vectors` the numbers per class that the policy keeps, and
    `dimensions` those of an embedding.

    >>> from gotta.memory import Table
    >>> table = Table(capacity=4, num_classes=3)
    >>> table.full, table.free(), table.count.tolist()
    (False, 0, [0, 0, 0])
    """

    exchanged: ClassVar[tuple[str, ...]] = ("clock", "embedding", "descriptor", "vectors")  # rows of them are logged

    def __init__(
        self,
        capacity: int,
        num_classes: int,
        vectors: tuple[str, ...] = (),
        dimensions: int = 0,
        keeps: tuple[str, ...] = (),
    ) -> None:
        self.capacity, self.num_classes = capacity, num_classes
        self.keeps = keeps
        self.counted = ("_seen", "mean") if "mean" in keeps else ("_seen",)  # changed in place
        self.columns = (*COLUMNS, *(name for name in FURTHER if name in keeps))
        self.clock = 0
        self.label: IntArray = np.full(capacity, -1, np.int64)
        self.uncertainty: Floats = np.full(capacity, np.nan)
        self.born: IntArray = np.full(capacity, -1, np.int64)
        self.filled: NDArray[np.bool_] = np.zeros(capacity, bool)
        self.group: IntArray = np.full(capacity, -1, np.int64)
        self.make_room(dimensions, 0)
        self.vectors: dict[str, Floats] = {name: np.zeros(num_classes) for name in vectors}
        # One place more than classes, so that label -1 has a place to be counted in.
        self._count: IntArray = np.zeros(num_classes + 1, np.int64)
        self._seen: IntArray = np.zeros(num_classes + 1, np.int64)
        self._size = 0
        self._members: defaultdict[int, Order] = defaultdict(Order)
        self._classes_with = [num_classes + 1] + [0] * capacity  # how many classes hold k rows
        self.most = 0  # rows that the largest class holds
        self._indexes: dict[type[Any], Any] = {}
        self.log: list[Logged] | None = None  # while somebody may want changes back

    def make_room(self, embedding: int, descriptor: int) -> None:
        """For so many numbers of each row. The system provides it as rows are filled."""
        self.embedding: Floats = np.zeros((self.capacity, embedding))
        self.descriptor: Floats = np.zeros((self.capacity, descriptor))
        self.mean: Floats = np.zeros((self.num_classes + 1, embedding) if "mean" in self.keeps else (0, 0))

    def __len__(self) -> int:
        return self._size

    @property
    def full(self) -> bool:
        return self._size == self.capacity

    @property
    def count(self) -> IntArray:
        """How many rows each class holds."""
        return self._count[:-1]

    @property
    def seen(self) -> IntArray:
        """How many samples of each class were offered, the one on offer included."""
        return self._seen[:-1]

    @property
    def order(self) -> IntArray:
        """All filled slots, oldest first."""
        return self.index(Insertion).view()

    def holds(self, label: int) -> int:
        """How many rows a class holds."""
        return int(self._count[label])

    def offered(self, label: int) -> int:
        """How many samples of a class were offered, the one on offer included."""
        return int(self._seen[label])

    def members(self, label: int) -> IntArray:
        """The slots of a class, oldest first."""
        members = self._members.get(label)
        return NO_ROWS if members is None else members.view()

    def free(self) -> int:
        """A slot that is not filled."""
        if self._size < self.capacity and not self.filled[self._size]:
            return self._size
        return int(self.filled.argmin())

    def rows_of(self, classes: list[int]) -> IntArray:
        """The slots of some classes, in no order that means anything."""
        wanted = np.zeros(len(self._count), bool)
        wanted[classes] = True
        return (wanted[self.label] & self.filled).nonzero()[0]

    def largest(self) -> list[int]:
        """The classes that hold the most rows, ascending; none of them when the table is empty."""
        return (self.count == self.most).nonzero()[0].tolist() if self._size else []

    def age(self, rows: IntArray) -> IntArray:
        return self.clock - self.born[rows]

    def rows(self) -> IntArray:
        """All filled slots: classes ascending, inside a class oldest first."""
        rows = np.flatnonzero(self.filled)
        return rows[np.lexsort((self.born[rows], self.label[rows]))]

    def index(self, kind: type[Kind]) -> Kind:
        """The one index of this kind, built at first use and kept up to date from then on."""
        found: Kind | None = self._indexes.get(kind)
        if found is None:
            found = self._indexes[kind] = kind(self)
        return found

    def offer(self, label: int, embedding: Floats | None = None) -> None:
        """A sample of this class is on offer from now on."""
        self._seen[label] += 1
        if embedding is not None and "mean" in self.keeps:
            self.mean[label] += (embedding - self.mean[label]) / self._seen[label]

    def put(
        self,
        slot: int,
        label: int,
        uncertainty: float,
        embedding: Floats,
        descriptor: Floats | None = None,
        group: int = -1,
    ) -> int:
        """Write a row; what was in the slot leaves. Returns the birth of the row that left, -1 for none."""
        left = self.remove(slot) if self.filled[slot] else self._log(slot)
        self.label[slot] = label
        self.uncertainty[slot] = uncertainty
        self.embedding[slot] = embedding
        self.born[slot] = self.clock
        self.filled[slot] = True
        if self.keeps:
            self.group[slot] = group
            if descriptor is not None:
                self.descriptor[slot] = descriptor
        self._size += 1
        self._members[label].append(slot)
        self._recount(label, 1)
        for index in self._indexes.values():
            index.added(slot)
        return left

    def join(self, group: int, other: int) -> None:
        """All rows of another group become rows of this one."""
        rows = np.flatnonzero(self.filled & (self.group == other))
        self._log(rows)
        self.group[rows] = group

    def tick(self) -> None:
        self.clock += 1

    def relabel(self, rows: IntArray, label: IntArray, uncertainty: Floats, embedding: NDArray[Any]) -> None:
        """New predictions for stored rows: they may change class; births and so the insertion order stay."""
        self._log(rows)
        self.label[rows] = label
        self.uncertainty[rows] = uncertainty
        self.embedding[rows] = embedding
        self.rebuild()

    def take_back(self, log: list[Logged]) -> None:
        """Write logged rows back, the latest first. May be done again."""
        if not log:
            return
        for rows, columns in reversed(log):
            for column, values in columns:
                column[rows] = values
        self.rebuild()

    def rebuild(self) -> None:
        """Everything that follows from the columns label, born and filled."""
        rows = self.rows()
        label = self.label[rows]
        classes, starts = np.unique(label, return_index=True)
        self._size = len(rows)
        parts = zip(classes.tolist(), np.split(rows, starts[1:]), strict=False)
        self._members = defaultdict(Order, {label: Order(part) for label, part in parts})
        self._count[:] = np.bincount(label % len(self._count), minlength=len(self._count))
        self._classes_with = np.bincount(self._count, minlength=self.capacity + 1).tolist()
        self.most = int(self._count.max())
        self._indexes = {}

    def _log(self, rows: int | IntArray) -> int:
        """Tell the log what some rows are before they change. Returns the birth of no row, -1."""
        if self.log is not None:
            columns = [self.filled, *(getattr(self, name) for name in self.columns)]
            self.log.append((rows, [(column, column[rows].copy()) for column in columns]))
        return -1

    def remove(self, slot: int) -> int:
        """Empty a filled slot. Returns the birth of the row that left."""
        self._log(slot)
        for index in self._indexes.values():
            index.removed(slot)
        label, born = int(self.label[slot]), int(self.born[slot])
        members = self._members[label]
        members.drop(members.position(slot, self.born))
        if not len(members):
            del self._members[label]
        self.filled[slot] = False
        self._size -= 1
        self._recount(label, -1)
        return born

    def _recount(self, label: int, change: int) -> None:
        before = int(self._count[label])
        after = before + change
        self._count[label] = after
        self._classes_with[before] -= 1
        self._classes_with[after] += 1
        if after > self.most or (before == self.most and not self._classes_with[before]):
            self.most = after


class Insertion:
    """All filled slots in insertion order."""

    def __init__(self, table: Table) -> None:
        rows = np.flatnonzero(table.filled)
        self._born = table.born
        self._order = Order(rows[np.argsort(table.born[rows])])

    def view(self) -> IntArray:
        return self._order.view()

    def added(self, slot: int) -> None:
        self._order.append(slot)

    def removed(self, slot: int) -> None:
        self._order.drop(self._order.position(slot, self._born))
