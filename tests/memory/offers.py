"""Offering samples one by one, and looking at what was decided."""

import numpy as np

from gotta.memory import Memory, Table


def ids(memory: Memory) -> list[int]:
    return sorted(memory.ids.tolist())


def point(*values: float) -> np.ndarray:
    return np.array([values], dtype=np.float64)


def offer(memory: Memory, label: int, u: float, z: np.ndarray) -> int:
    return int(memory.observe([0], label=[label], uncertainty=[u], embedding=z)[0])


def last_reason(memory: Memory) -> str:
    assert memory.journal is not None
    return str(memory.journal.column("reason")[-1])


def table_of(labels: list[int], uncertainty: list[float] | None = None, capacity: int = 6, classes: int = 3) -> Table:
    table = Table(capacity, classes, dimensions=2)
    for i, label in enumerate(labels):
        table.offer(label)
        table.put(i, label, uncertainty[i] if uncertainty else 0.0, np.array([float(i), 0.0]))
        table.tick()
    return table
