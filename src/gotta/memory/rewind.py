"""Taking back what happened to a memory, at the cost of the rows that changed and not of those there are."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gotta.memory import state
from gotta.memory.storage import Replaced
from gotta.memory.table import Logged

if TYPE_CHECKING:
    from gotta.memory.memory import Memory


class Rewind:
    """A memory as it is now. `back` brings that back, bit for bit and as often as it is called, until `stop`.

    What is exchanged needs only its old place (`exchanged` of memory, table and storage), what is counted is copied
    (`counted` of the table), lists are cut (`lists` of the journal), and rows that are overwritten are logged.
    """

    def __init__(self, memory: "Memory") -> None:
        table, storage, journal = memory._table, memory._storage, memory.journal
        holders = (memory, table, storage)
        self._memory, self._table, self._storage, self._journal = memory, table, storage, journal
        self._places: list[tuple[Any, str, Any]] = [
            (holder, name, getattr(holder, name)) for holder in holders for name in holder.exchanged
        ]
        self._counts = [(name, getattr(table, name).copy()) for name in table.counted]
        self._lengths = [] if journal is None else [(held, len(held)) for held in journal.lists]
        self._rng = state.of_generator(memory._rng)
        self._rows: list[Logged] = []
        self._pixels: list[Replaced] = []
        table.log, storage.log = self._rows, self._pixels

    def stop(self) -> None:
        """What is there may stay."""
        self._table.log = self._storage.log = None

    def back(self) -> None:
        for holder, name, value in self._places:
            setattr(holder, name, value)
        self._table.take_back(self._rows)
        self._storage.take_back(self._pixels)
        for name, counted in self._counts:
            setattr(self._table, name, counted.copy())
        for held, length in self._lengths:
            del held[length:]
        state.set_generator(self._memory._rng, self._rng)


@contextmanager
def all_or_nothing(memory: "Memory") -> Iterator[None]:
    """Whatever goes wrong inside changes nothing."""
    rewind = Rewind(memory)
    try:
        yield
    except BaseException:
        rewind.back()
        raise
    finally:
        rewind.stop()
