"""The state of a memory: as a flat dictionary of tensors and of values that JSON can hold, and as it was a call ago."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gotta.errors import GottaError
from gotta.memory.table import Logged, Table
from gotta.state import Back, count, flag, read_each

if TYPE_CHECKING:
    from gotta.memory.memory import Memory

GIVEN = ("label", "uncertainty", "embedding")  # or not, with each sample


def of_memory(memory: "Memory") -> dict[str, Any]:
    """The filled rows with their slots; what the table derives from them is left out."""
    table = memory._table
    slots = np.flatnonzero(table.filled)
    arrays = {name: getattr(table, name)[slots] for name in table.columns}
    arrays |= {name.lstrip("_"): getattr(table, name).copy() for name in table.counted}
    arrays |= {f"vector.{name}": value.copy() for name, value in table.vectors.items()}
    return {
        **{name: torch.from_numpy(values) for name, values in {**arrays, "slots": slots}.items()},
        "clock": table.clock,
        "rows": table.capacity,
        "x": memory._storage.read(torch.from_numpy(slots)),
        "capacity": memory.capacity,
        "num_classes": memory.num_classes,
        "policy": repr(memory.policy),
        "fields": memory._fields,
        "dtype": memory._dtype.name,
        "stats": dict(memory._stats),
        "rng": of_generator(memory._rng),
    }


def to_memory(memory: "Memory", saved: dict[str, Any]) -> None:
    own = {"policy": repr(memory.policy), "capacity": memory.capacity, "num_classes": memory.num_classes}
    for name, mine in own.items():
        if saved.get(name) != mine:
            raise GottaError(f"the saved state has {name}={saved.get(name)}, this memory {mine}. Build it alike.")
    try:
        table = to_table(memory, saved)
        fields = None if saved["fields"] is None else read_each(dict.fromkeys(GIVEN, flag), saved["fields"])
        stats = {str(reason): count(times) for reason, times in saved["stats"].items()}
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, MemoryError) as error:
        raise GottaError(f"the saved state of the memory is damaged: {type(error).__name__}: {error}.") from None
    memory._start(table.capacity)
    memory._table = table
    memory._fields, memory._dtype, memory._stats = fields, np.dtype(saved["dtype"]), {**memory._stats, **stats}
    set_generator(memory._rng, saved["rng"])
    if len(table) or (fields is not None and saved["x"].ndim > 1):  # without rows: what a sample looks like, if known
        memory._storage.prepare(saved["x"])
        memory._storage.write(torch.from_numpy(np.flatnonzero(table.filled)), torch.arange(len(table)), saved["x"])


def to_table(memory: "Memory", saved: dict[str, Any]) -> Table:
    columns = memory._table.columns
    _check_sizes(memory, saved, columns)
    vectors = {name[len("vector.") :]: array(value) for name, value in saved.items() if name.startswith("vector.")}
    table = Table(saved["rows"], memory.num_classes, tuple(vectors), keeps=memory.policy.keeps)
    table.make_room(*(saved[name].shape[1] if name in columns else 0 for name in ("embedding", "descriptor")))
    table.vectors.update(vectors)
    slots = array(saved["slots"])
    for name in columns:
        getattr(table, name)[slots] = array(saved[name])
    for name in table.counted:
        getattr(table, name)[:] = array(saved[name.lstrip("_")])
    table.filled[slots] = True
    table.clock = saved["clock"]
    table.rebuild()
    return table


def _check_sizes(memory: "Memory", saved: dict[str, Any], columns: Sequence[str]) -> None:
    """Raises ValueError unless the columns go together, before room is made for what they ask for."""
    slots, rows, clock, num_classes = array(saved["slots"]), saved["rows"], saved["clock"], memory.num_classes
    stored = len(slots)
    if type(rows) is not int or not 1 <= rows <= max(memory.capacity, stored) or count(clock) != clock:
        raise ValueError("its size or its clock is damaged")
    inside = not stored or 0 <= slots.min() <= slots.max() < rows
    if slots.dtype != np.int64 or len(np.unique(slots)) < stored or not inside:
        raise ValueError("its slots are damaged")
    lengths = {**dict.fromkeys((*columns, "x"), stored), "seen": num_classes + 1}
    lengths |= {name: num_classes for name in saved if name.startswith("vector.")}
    wrong = [name for name, length in lengths.items() if len(saved[name]) != length]
    if wrong:
        raise ValueError(f"{', '.join(wrong)} do not have the length of the other columns")
    if np.dtype(saved["dtype"]).kind != "f":
        raise ValueError("what it says of its columns is damaged")
    label = array(saved["label"])
    if stored and not -1 <= label.min() <= label.max() < num_classes:
        raise ValueError(f"labels go from {label.min()} to {label.max()}, and there are {num_classes} classes")


def array(value: torch.Tensor) -> Any:
    return value.detach().cpu().numpy().copy()


def of_generator(rng: np.random.Generator) -> Any:
    """The state of a NumPy generator; None for a stand-in that replays recorded draws."""
    bits = getattr(rng, "bit_generator", None)
    return None if bits is None else dict(bits.state)  # NumPy makes it anew at each look


def set_generator(rng: np.random.Generator, saved: Any) -> None:
    if saved is not None:
        rng.bit_generator.state = deepcopy(saved)


class Rewind:
    """A memory as it is now. `back` brings that back, bit for bit and as often as it is called, until `stop`.

    What is exchanged needs only its old place (`exchanged` of memory, table and storage), what is counted is copied
    (`counted` of the table), lists of the journal are cut, and rows that are overwritten are logged.
    """

    def __init__(self, memory: "Memory") -> None:
        table, storage, journal = memory._table, memory._storage, memory.journal
        holders = (memory, table, storage)
        self._memory, self._table, self._storage = memory, table, storage
        self._places: list[tuple[Any, str, Any]] = [
            (holder, name, getattr(holder, name)) for holder in holders for name in holder.exchanged
        ]
        self._counts = [(name, getattr(table, name).copy()) for name in table.counted]
        grown: list[list[Any]] = [] if journal is None else [journal.events, journal.batches, journal.refreshes]
        self._lengths = [(held, len(held)) for held in grown]
        self._rng = of_generator(memory._rng)
        self._rows: list[Logged] = []
        self._pixels: list[Back] = []
        table.log, storage.log = self._rows, self._pixels

    def stop(self) -> None:
        """What is there may stay."""
        self._table.log = self._storage.log = None

    def back(self) -> None:
        for holder, name, value in self._places:
            setattr(holder, name, value)
        self._table.take_back(self._rows)
        for name, counted in self._counts:
            setattr(self._table, name, counted.copy())
        for held, length in self._lengths:
            del held[length:]
        set_generator(self._memory._rng, self._rng)
        for call in reversed(self._pixels):  # last: torch can read types of numbers that it cannot write
            call()


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
