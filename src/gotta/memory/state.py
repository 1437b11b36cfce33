"""The state of a memory as a flat dictionary of tensors and of values that JSON can hold."""

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from gotta.errors import GottaError
from gotta.memory.table import Table

if TYPE_CHECKING:
    from gotta.memory.memory import Memory

COLUMNS = ("label", "uncertainty", "embedding", "born")


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
    for name, mine in (
        ("policy", repr(memory.policy)),
        ("capacity", memory.capacity),
        ("num_classes", memory.num_classes),
    ):
        if saved.get(name) != mine:
            raise GottaError(f"the saved state has {name}={saved.get(name)}, this memory {mine}. Build it alike.")
    table = to_table(saved, memory.num_classes)
    memory._start(table.capacity)
    memory._table = table
    memory._fields, memory._dtype = saved["fields"], np.dtype(saved["dtype"])
    memory._stats.update(saved["stats"])
    set_generator(memory._rng, saved["rng"])
    if len(table):
        rows = torch.arange(len(table))
        memory._storage.prepare(saved["x"])
        memory._storage.write(torch.from_numpy(np.flatnonzero(table.filled)), rows, saved["x"])


def of_table(table: Table) -> dict[str, Any]:
    """The filled rows with their slots; what the table derives from them is left out."""
    slots = np.flatnonzero(table.filled)
    columns = {name: torch.from_numpy(getattr(table, name)[slots]) for name in COLUMNS}
    vectors = {f"vector.{name}": torch.from_numpy(value.copy()) for name, value in table.vectors.items()}
    seen = torch.from_numpy(table._seen.copy())
    size = {"slots": torch.from_numpy(slots), "seen": seen, "clock": table.clock, "rows": table.capacity}
    return {**columns, **vectors, **size}


def to_table(saved: dict[str, Any], num_classes: int) -> Table:
    vectors = {name[len("vector.") :]: array(value) for name, value in saved.items() if name.startswith("vector.")}
    table = Table(saved["rows"], num_classes, tuple(vectors), saved["embedding"].shape[1])
    table.vectors.update(vectors)
    slots = array(saved["slots"])
    for name in COLUMNS:
        getattr(table, name)[slots] = array(saved[name])
    table.filled[slots] = True
    table._seen[:] = array(saved["seen"])
    table.clock = saved["clock"]
    table.rebuild()
    return table


def array(value: torch.Tensor) -> Any:
    return value.detach().cpu().numpy().copy()


def of_generator(rng: np.random.Generator) -> Any:
    """The state of a NumPy generator; None for a stand-in that replays recorded draws."""
    bits = getattr(rng, "bit_generator", None)
    return None if bits is None else deepcopy(dict(bits.state))


def set_generator(rng: np.random.Generator, saved: Any) -> None:
    if saved is not None:
        rng.bit_generator.state = deepcopy(saved)
