"""Following a memory along its stream, so that it can be measured: the true label in each slot, the last samples."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gotta.errors import GottaError
from gotta.metrics.measures import MEASURES, UNKNOWN, FloatArray, Held
from gotta.types import FOREIGN, IntArray, MemoryBatch


class Buffer:
    """Follows the true label in each slot and the last samples of the stream, and measures a memory against them."""

    def __init__(
        self, capacity: int, num_classes: int, recent: int = 1000, *, duplicate_epsilon: float = 0.005
    ) -> None:
        for name, value in (("capacity", capacity), ("num_classes", num_classes), ("recent", recent)):
            if value < 1:
                raise GottaError(f"{name} must be at least 1, got {value}.")
        self.capacity, self.num_classes, self.recent = capacity, num_classes, recent
        self.duplicate_epsilon = duplicate_epsilon
        self.reset()

    def reset(self) -> None:
        self._truth = np.full(self.capacity, UNKNOWN, np.int64)  # [slots]
        self._ring: FloatArray | None = None  # [recent, D], allocated when D is known
        self._clock = 0

    def state_dict(self) -> dict[str, Any]:
        """What is followed so far: plain arrays and numbers."""
        ring = None if self._ring is None else self._ring.copy()
        return {"truth": self._truth.copy(), "ring": ring, "clock": self._clock}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from the state of a metric with the same settings."""
        ring = state["ring"]
        if ring is not None and len(ring) != self.recent:
            raise GottaError(f"the saved state follows the last {len(ring)} samples, this metric {self.recent}.")
        self._truth = np.array(state["truth"])
        self._ring = None if ring is None else np.array(ring)
        self._clock = int(state["clock"])

    def update(
        self, slots: IntArray | Tensor, truth_label: IntArray | Tensor, embedding: NDArray[np.floating[Any]] | Tensor
    ) -> None:
        """Take note of a batch: the slot each sample went to (-1 = not stored), its true label and its embedding."""
        slot, label, points = integers(slots), integers(truth_label), floats(embedding)
        if not len(slot) == len(label) == len(points) or points.ndim != 2:
            raise GottaError(
                "slots [B], truth_label [B] and embedding [B, D] must agree in B, "
                f"got {slot.shape}, {label.shape} and {points.shape}."
            )
        written, last = last_writers(slot)
        if len(written):
            self._grow(int(written.max()) + 1)
        self._truth[written] = label[last]
        self._remember(points)

    def measure(self, batch: MemoryBatch, slots: IntArray | Tensor) -> dict[str, Any]:
        """The state of the memory whose rows are `batch`, row i of which lies in `slots[i]`. JSON-ready."""
        slot, label, points = integers(slots), integers(batch.label), floats(batch.embedding)
        if len(slot) != len(batch):
            raise GottaError(f"a memory of {len(batch)} rows needs as many slots, got {len(slot)}.")
        held = Held(
            label=label,
            truth=self._truth_of(slot),
            age=floats(batch.age),
            points=points,
            recent=self._last(),
            capacity=len(self._truth),
            num_classes=self.num_classes,
            duplicate_epsilon=self.duplicate_epsilon,
        )
        return {name: measure.of(held) for name, measure in MEASURES.items()}

    def foreign_share(self, slots: IntArray | Tensor) -> float | None:
        """The share of these rows that hold foreign samples."""
        truth = self._truth_of(integers(slots))
        return float((truth == FOREIGN).mean()) if len(truth) else None

    def _truth_of(self, slot: IntArray) -> IntArray:
        """The true label in each slot; a slot that nothing was ever written to is unknown."""
        known = (slot >= 0) & (slot < len(self._truth))
        return np.where(known, self._truth[np.where(known, slot, 0)], UNKNOWN)

    def _grow(self, size: int) -> None:
        """The memory `none` holds a whole batch, whatever its capacity says."""
        if size > len(self._truth):
            self._truth = np.pad(self._truth, (0, size - len(self._truth)), constant_values=UNKNOWN)

    def _remember(self, points: FloatArray) -> None:
        if self._ring is None or self._ring.shape[1] != points.shape[1]:
            self._ring, self._clock = np.zeros((self.recent, points.shape[1])), 0
        points = points[-self.recent :]
        self._ring[(self._clock + np.arange(len(points))) % self.recent] = points
        self._clock += len(points)

    def _last(self) -> FloatArray:
        return np.empty((0, 0)) if self._ring is None else self._ring[: min(self._clock, self.recent)]


def last_writers(slot: IntArray) -> tuple[IntArray, IntArray]:
    """The slots written and, for each, the position in the batch of the sample that was written last."""
    stored = np.flatnonzero(slot >= 0)[::-1]
    written, first = np.unique(slot[stored], return_index=True)
    return written, stored[first]


def integers(values: NDArray[Any] | Tensor) -> IntArray:
    return np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values).astype(np.int64)


def floats(values: NDArray[Any] | Tensor) -> FloatArray:
    return np.asarray(values.detach().double().cpu() if isinstance(values, Tensor) else values).astype(np.float64)
