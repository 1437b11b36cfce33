"""What a memory looks like: how full, balanced, pure, old, redundant, and how well it covers the stream."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from torch import Tensor

from gotta.errors import GottaError
from gotta.types import IntArray, MemoryBatch

FloatArray = NDArray[np.float64]
UNKNOWN = -1
CHUNK = 1 << 20  # distances held at a time


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
        counts = np.bincount(label, minlength=self.num_classes)
        age = floats(batch.age)
        neighbour = nearest_in_class(points, label)
        crowded = neighbour[np.isfinite(neighbour)]
        return {
            "rows": len(batch),
            "occupancy": len(batch) / max(len(self._truth), len(batch)),
            "classes": int((counts > 0).sum()),
            "balance": balance(counts),
            "purity": purity(label, self._truth_of(slot)),
            "age_mean": mean(age),
            "age_max": int(age.max()) if len(age) else None,
            "near_duplicates": mean((neighbour <= self.duplicate_epsilon).astype(np.float64)),
            "nn_distance": mean(crowded),
            "coverage": coverage(self._last(), points),
        }

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


def balance(counts: IntArray) -> float | None:
    """Entropy of the class counts over its largest possible value: 1 = every class has as many rows."""
    rows = counts.sum()
    if not rows:
        return None
    if len(counts) == 1:
        return 1.0
    share = counts[counts > 0] / rows
    return float(-(share * np.log(share)).sum() / np.log(len(counts))) + 0.0  # + 0.0: no negative zero


def purity(label: IntArray, truth: IntArray) -> float | None:
    """The share of rows whose stored label is the true one, among the rows whose true label is known."""
    known = truth != UNKNOWN
    return mean((label == truth)[known].astype(np.float64))


def nearest_in_class(points: FloatArray, label: IntArray) -> FloatArray:
    """For each row the distance to the nearest other row of its class; inf if there is none."""
    result = np.full(len(points), np.inf)
    for name in np.unique(label):
        rows = np.flatnonzero((label == name) & np.isfinite(points).all(1))
        if len(rows) > 1:
            result[rows] = nearest(points[rows], points[rows], skip_self=True)
    return result


def coverage(stream: FloatArray, stored: FloatArray) -> float | None:
    """Mean distance of the stream's samples to their nearest stored row."""
    if not len(stream) or not len(stored):
        return None
    stream, stored = (rows[np.isfinite(rows).all(1)] for rows in (stream, stored))
    return mean(nearest(stream, stored)) if len(stored) else None


def nearest(points: FloatArray, others: FloatArray, skip_self: bool = False) -> FloatArray:
    """For each point the Euclidean distance to the nearest of `others`, a bounded block of distances at a time."""
    result = np.empty(len(points))
    rows = max(1, CHUNK // len(others))
    for start in range(0, len(points), rows):
        distance = cdist(points[start : start + rows], others)
        if skip_self:
            own = np.arange(len(distance))
            distance[own, start + own] = np.inf
        result[start : start + rows] = distance.min(1)
    return result


def mean(values: FloatArray) -> float | None:
    return float(values.mean()) if len(values) else None


def integers(values: NDArray[Any] | Tensor) -> IntArray:
    return np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values).astype(np.int64)


def floats(values: NDArray[Any] | Tensor) -> FloatArray:
    return np.asarray(values.detach().double().cpu() if isinstance(values, Tensor) else values).astype(np.float64)
