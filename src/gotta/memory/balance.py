"""Which class a sample competes in, and which rows are in that competition."""

from math import inf

import numpy as np

from gotta.memory.table import Table

QUOTAS = ("real", "floor", "ceil", "none")


def limit(capacity: int, num_classes: int, quota: str) -> float:
    """A class has room while it holds fewer rows than this.

    `real` is CSTU's capacity / num_classes unrounded. `floor` is at least 1, or no class could ever enter.
    """
    if quota == "real":
        return capacity / num_classes
    if quota == "floor":
        return max(1, capacity // num_classes)
    return -(-capacity // num_classes) if quota == "ceil" else inf


def rivals(table: Table, label: int, quota: str = "real") -> list[int] | None:
    """None if there is room; otherwise the classes whose rows the newcomer must compete with.

    A class that is full competes within itself, also while the memory has room. A class with room in a full memory
    competes with the largest classes, or within itself if it is one of them (which only happens without a quota).
    """
    held = table.holds(label)
    if held >= limit(table.capacity, table.num_classes, quota):
        return [label]
    if not table.full:
        return None
    return [label] if held == table.most else table.largest()


def random_row(table: Table, classes: list[int], rng: np.random.Generator) -> int:
    """A random row of a random class. With one class nothing is drawn to choose it."""
    label = classes[0] if len(classes) == 1 else classes[int(rng.integers(len(classes)))]
    members = table.members(label)
    return int(members[int(rng.integers(len(members)))])
