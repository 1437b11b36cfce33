"""Which class a sample competes in, and which rows are in that competition."""

from math import inf
from typing import Literal

import numpy as np

from gotta.memory.table import Table

Quota = Literal["real", "floor", "ceil", "none"]


def limit(capacity: int, num_classes: int, quota: Quota) -> float:
    """A class has room while it holds fewer rows than this.

    `real` is CSTU's capacity / num_classes unrounded. `floor` is at least 1, or no class could ever enter.
    """
    if quota == "real":
        return capacity / num_classes
    if quota == "floor":
        return max(1, capacity // num_classes)
    return -(-capacity // num_classes) if quota == "ceil" else inf


def rivals(table: Table, label: int, quota: Quota = "real") -> list[int] | None:
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


def random_row(table: Table, rivals: list[int], label: int, rng: np.random.Generator) -> int:
    """A random row of the newcomer's own class, if it competes in that; otherwise of a random one of the rivals."""
    chosen = label if rivals == [label] else rivals[int(rng.integers(len(rivals)))]
    members = table.members(chosen)
    return int(members[int(rng.integers(len(members)))])
