"""Taking back what happened to a memory, at the cost of the rows that changed and not of those there are."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gotta.memory import state
from gotta.memory.storage import Replaced
from gotta.memory.table import Logged

if TYPE_CHECKING:
    from gotta.memory.memory import Memory

OF_MEMORY = ("_table", "_storage", "_fields", "_dtype", "num_classes", "knows_classes", "journal")
OF_TABLE = ("clock", "embedding", "descriptor")
OF_STORAGE = ("pixels", "device")
OF_JOURNAL = ("events", "batches", "refreshes")


class Rewind:
    """A memory as it is when this begins. Until it ends, `back` brings that state back, bit for bit.

    Tables and storages that are exchanged need only their old place; rows that are overwritten are logged.
    """

    def __init__(self, memory: "Memory") -> None:
        self._memory = memory

    def __enter__(self) -> "Rewind":
        memory = self._memory
        table, storage, journal = memory._table, memory._storage, memory.journal
        self._whole = {name: getattr(memory, name) for name in OF_MEMORY}
        self._parts: list[tuple[Any, dict[str, Any]]] = [
            (table, {name: getattr(table, name) for name in OF_TABLE}),
            (storage, {name: getattr(storage, name) for name in OF_STORAGE}),
        ]
        self._stats, self._seen, self._vectors = dict(memory._stats), table._seen.copy(), dict(table.vectors)
        self._mean = table.mean.copy() if "mean" in table.keeps else table.mean
        self._rng = state.of_generator(memory._rng)
        self._journal = {} if journal is None else {name: len(getattr(journal, name)) for name in OF_JOURNAL}
        self._rows: list[Logged] = []
        self._pixels: list[Replaced] = []
        table.logs.append(self._rows)
        storage.logs.append(self._pixels)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        table, storage = self._whole["_table"], self._whole["_storage"]
        table.logs = [log for log in table.logs if log is not self._rows]
        storage.logs = [log for log in storage.logs if log is not self._pixels]

    def back(self) -> None:
        memory, table, storage = self._memory, self._whole["_table"], self._whole["_storage"]
        if self._rows:
            table.take_back(self._rows)
        storage.take_back(self._pixels)
        for holder, values in [(memory, self._whole), *self._parts]:
            for name, value in values.items():
                setattr(holder, name, value)
        memory._stats = dict(self._stats)
        table.vectors = dict(self._vectors)
        table._seen[:] = self._seen
        table.mean = self._mean.copy()
        state.set_generator(memory._rng, self._rng)
        for name, length in self._journal.items():
            del getattr(memory.journal, name)[length:]
        self._rows.clear()
        self._pixels.clear()

    @contextmanager
    def on_error(self) -> Iterator[None]:
        """Whatever goes wrong inside changes nothing."""
        try:
            yield
        except BaseException:
            self.back()
            raise
