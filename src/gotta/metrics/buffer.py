"""Following a memory along its stream, so that it can be measured: the true label in each slot, the last samples."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gotta.errors import GottaError
from gotta.limits import Count, require
from gotta.metrics.measures import MEASURES, UNKNOWN, Held
from gotta.types import FOREIGN, Floats, IntArray, MemoryBatch

Numbers = NDArray[Any] | Tensor


class Buffer:
    """Follows the true label in each slot and the last samples of the stream, and measures a memory against them.

    The memory has `capacity` rows of `num_classes` classes; the last samples are `recent` in number.

    >>> import gotta
    >>> buffer, memory = gotta.metrics.Buffer(4, num_classes=3), gotta.Memory("fifo", 4, 3)
    >>> slots = memory.observe([[1.0], [2.0]], label=[0, 0], uncertainty=[0.1, 0.2], embedding=[[1.0], [0.0]])
    >>> buffer.update(slots, [0, 2], [[1.0], [0.0]])
    >>> buffer.measure(memory.peek(), memory.slots)["purity"]
    0.5
    """

    def __init__(self, capacity: int, num_classes: int, recent: int = 1000) -> None:
        for name, value in (("capacity", capacity), ("num_classes", num_classes), ("recent", recent)):
            require(name, value, Count)
        self.num_classes, self.recent = num_classes, recent
        self._truth = np.full(capacity, UNKNOWN, np.int64)  # [slots]
        self._ring: Floats = np.empty((0, 0))  # [recent, D], allocated when D is known
        self._clock = 0

    def state_dict(self) -> dict[str, Any]:
        """What is followed so far: plain arrays and numbers."""
        return {"truth": self._truth.copy(), "ring": self._ring.copy(), "clock": self._clock}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from the state of a metric with the same settings."""
        ring = np.empty((0, 0)) if state["ring"] is None else np.array(state["ring"])
        if len(ring) not in (0, self.recent):
            raise GottaError(f"the saved state follows the last {len(ring)} samples, this metric {self.recent}.")
        self._truth, self._ring = np.array(state["truth"]), ring
        self._clock = int(state["clock"])

    def update(self, slots: Numbers, truth_label: Numbers, embedding: Numbers) -> None:
        """Take note of a batch: the slot each sample went to (-1 = not stored), its true label and its embedding."""
        slot, label, points = integers(slots), integers(truth_label), floats(embedding)
        if not len(slot) == len(label) == len(points):
            sizes = f"{len(slot)}, {len(label)} and {len(points)}"
            raise GottaError(f"slots, labels and embeddings must be equally many, got {sizes}.")
        written, last = last_writers(slot)
        more = int(written.max(initial=-1)) + 1 - len(self._truth)
        if more > 0:  # the memory `none` holds a whole batch, whatever its capacity says
            self._truth = np.pad(self._truth, (0, more), constant_values=UNKNOWN)
        self._truth[written] = label[last]
        self._remember(points)

    def measure(self, batch: MemoryBatch, slots: Numbers) -> dict[str, Any]:
        """The state of the memory whose rows are `batch`, row i of which lies in `slots[i]`. JSON-ready."""
        held = Held(
            label=integers(batch.label),
            truth=self._truth_of(integers(slots)),
            age=floats(batch.age),
            points=floats(batch.embedding),
            recent=self._ring[: self._clock],
            capacity=len(self._truth),
            num_classes=self.num_classes,
        )
        return {name: measure.of(held) for name, measure in MEASURES.items()}

    def foreign_share(self, slots: Numbers) -> float | None:
        """The share of these rows that hold foreign samples."""
        truth = self._truth_of(integers(slots))
        return float((truth == FOREIGN).mean()) if len(truth) else None

    def _truth_of(self, slot: IntArray) -> IntArray:
        """The true label in each slot; a slot that nothing was ever written to is unknown."""
        known = (slot >= 0) & (slot < len(self._truth))
        return np.where(known, self._truth[np.where(known, slot, 0)], UNKNOWN)

    def _remember(self, points: Floats) -> None:
        if self._ring.shape[1] != points.shape[1]:
            self._ring, self._clock = np.zeros((self.recent, points.shape[1])), 0
        points = points[-self.recent :]
        self._ring[(self._clock + np.arange(len(points))) % self.recent] = points
        self._clock += len(points)


def last_writers(slot: IntArray) -> tuple[IntArray, IntArray]:
    """The slots written and, for each, the position in the batch of the sample that was written last."""
    stored = np.flatnonzero(slot >= 0)[::-1]
    written, first = np.unique(slot[stored], return_index=True)
    return written, stored[first]


def integers(values: Numbers) -> IntArray:
    return np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values).astype(np.int64)


def floats(values: Numbers) -> Floats:
    return np.asarray(values.detach().double().cpu() if isinstance(values, Tensor) else values).astype(np.float64)
