"""No memory, as a memory: the batch just observed and nothing before it."""

from typing import Any

import numpy as np

from gotta.memory.intake import Columns
from gotta.memory.memory import Memory
from gotta.memory.policy import policies
from gotta.memory.table import IntArray


class CurrentBatch(Memory):
    """No memory: the batch just observed, whole, in stream order and at age 0, whatever the capacity."""

    lasts = False

    @property
    def notes(self) -> list[str]:
        return []

    @property
    def slots(self) -> IntArray:
        return self._table.order.copy()

    def _capacity(self, given: int | None) -> int:
        return 1 if given is None else super()._capacity(given)

    def _begin(self, columns: Columns, size: int) -> None:
        """An empty table of the batch's size: batches need not be alike. Clock and counts go on."""
        clock, stats = self._table.clock, self._stats
        self._start(size)
        self._table.clock, self._stats = clock, stats
        super()._begin(columns, size)

    def _age(self, rows: IntArray) -> IntArray:
        return np.zeros_like(rows)


def memory_class(policy: Any) -> type[Memory]:
    """The kind of memory that a policy, or a policy's name, asks for: the one place where `holds_batch` is read."""
    kind = policies.take(policy) if isinstance(policy, str) else policy
    return CurrentBatch if getattr(kind, "holds_batch", False) else Memory
