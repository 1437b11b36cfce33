"""The state of a memory as a flat dictionary of tensors and of values that JSON can hold."""

from copy import deepcopy
from typing import Any

import numpy as np
import torch

from gotta.memory.table import Table

COLUMNS = ("label", "uncertainty", "embedding", "born")


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
