"""Things that belong together."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key")


def group(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Those of the same key together, all in the order in which they came.

    >>> group(["fps", "cds", "fifo"], lambda name: name[0])
    {'f': ['fps', 'fifo'], 'c': ['cds']}
    """
    found: dict[Key, list[Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found
