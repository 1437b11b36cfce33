"""The state of a memory: as a flat dictionary of tensors and of values that JSON can hold, and as it was a call ago."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gotta.errors import GottaError
from gotta.memory.storage import Replaced
from gotta.memory.table import FURTHER, Logged, Table

if TYPE_CHECKING:
    from gotta.memory.memory import Memory

GIVEN = ("label", "uncertainty", "embedding")  # or not, with each sample
COLUMNS = (*GIVEN, "born")


def of_memory(memory: "Memory") -> dict[str, Any]:
    return {
        **of_table(memory._table),
        "x": memory._storage.read(torch.from_numpy(np.flatnonzero(memory._table.filled))),
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
        table = to_table(saved, memory.num_classes, memory.capacity, memory.policy.keeps)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, MemoryError) as error:
        raise GottaError(f"the saved state of the memory is damaged: {type(error).__name__}: {error}.") from None
    memory._start(table.capacity)
    memory._table = table
    memory._fields, memory._dtype = saved["fields"], np.dtype(saved["dtype"])
    memory._stats = {**memory._stats, **saved["stats"]}
    set_generator(memory._rng, saved["rng"])
    if len(table):
        rows = torch.arange(len(table))
        memory._storage.prepare(saved["x"])
        memory._storage.write(torch.from_numpy(np.flatnonzero(table.filled)), rows, saved["x"])


def of_table(table: Table) -> dict[str, Any]:
    """The filled rows with their slots; what the table derives from them is left out."""
    slots = np.flatnonzero(table.filled)
    further = [name for name in FURTHER if name in table.keeps]
    columns = {name: torch.from_numpy(getattr(table, name)[slots]) for name in (*COLUMNS, *further)}
    if "mean" in table.keeps:
        columns["mean"] = torch.from_numpy(table.mean.copy())
    vectors = {f"vector.{name}": torch.from_numpy(value.copy()) for name, value in table.vectors.items()}
    seen = torch.from_numpy(table._seen.copy())
    size = {"slots": torch.from_numpy(slots), "seen": seen, "clock": table.clock, "rows": table.capacity}
    return {**columns, **vectors, **size}


def to_table(saved: dict[str, Any], num_classes: int, capacity: int, keeps: tuple[str, ...] = ()) -> Table:
    further = tuple(name for name in FURTHER if name in keeps)
    _check_sizes(saved, num_classes, capacity, further)
    vectors = {name[len("vector.") :]: array(value) for name, value in saved.items() if name.startswith("vector.")}
    table = Table(saved["rows"], num_classes, tuple(vectors), saved["embedding"].shape[1], keeps)
    if "descriptor" in keeps:
        table.descriptor = np.zeros((table.capacity, saved["descriptor"].shape[1]))
    if "mean" in keeps:
        table.mean[:] = array(saved["mean"])
    table.vectors.update(vectors)
    slots = array(saved["slots"])
    for name in (*COLUMNS, *further):
        getattr(table, name)[slots] = array(saved[name])
    table.filled[slots] = True
    table._seen[:] = array(saved["seen"])
    table.clock = saved["clock"]
    table.rebuild()
    return table


def _check_sizes(saved: dict[str, Any], num_classes: int, capacity: int, further: tuple[str, ...]) -> None:
    """Raises ValueError unless the columns go together, before room is made for what they ask for."""
    slots, rows, clock = array(saved["slots"]), saved["rows"], saved["clock"]
    stored = len(slots)
    if type(rows) is not int or not 1 <= rows <= max(capacity, stored) or type(clock) is not int or clock < 0:
        raise ValueError("its size or its clock is damaged")
    if (
        slots.dtype != np.int64
        or len(np.unique(slots)) < stored
        or (stored and not 0 <= slots.min() <= slots.max() < rows)
    ):
        raise ValueError("its slots are damaged")
    lengths = {name: len(saved[name]) for name in (*COLUMNS, *further, "x")}
    wrong = [name for name, length in lengths.items() if length != stored and not (name == "x" and not stored)]
    wrong += [name for name in saved if name.startswith("vector.") and len(saved[name]) != num_classes]
    wrong += [] if len(saved["seen"]) == num_classes + 1 else ["seen"]
    if wrong:
        raise ValueError(f"{', '.join(wrong)} do not have the length of the other columns")
    given = saved["fields"]
    known = given is None or (given.keys() == {*GIVEN} and all(type(there) is bool for there in given.values()))
    if np.dtype(saved["dtype"]).kind != "f" or not known:
        raise ValueError("what it says of its columns is damaged")
    if not all(type(count) is int and count >= 0 for count in saved["stats"].values()):
        raise ValueError("what it has counted is damaged")
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
    (`counted` of the table), lists are cut (`lists` of the journal), and rows that are overwritten are logged.
    """

    def __init__(self, memory: "Memory") -> None:
        table, storage, journal = memory._table, memory._storage, memory.journal
        holders = (memory, table, storage)
        self._memory, self._table, self._storage = memory, table, storage
        self._places: list[tuple[Any, str, Any]] = [
            (holder, name, getattr(holder, name)) for holder in holders for name in holder.exchanged
        ]
        self._counts = [(name, getattr(table, name).copy()) for name in table.counted]
        self._lengths = [] if journal is None else [(held, len(held)) for held in journal.lists]
        self._rng = of_generator(memory._rng)
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
        for name, counted in self._counts:
            setattr(self._table, name, counted.copy())
        for held, length in self._lengths:
            del held[length:]
        set_generator(self._memory._rng, self._rng)
        self._storage.take_back(self._pixels)  # last: torch can read types of numbers that it cannot write


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
