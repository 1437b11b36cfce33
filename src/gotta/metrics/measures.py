"""What a memory looks like: how full, balanced, pure, old, redundant, and how well it covers the stream.

A measure is one entry of MEASURES: runs record it, and tables, figures and the page show it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.distance import cdist

from gotta.types import Floats, IntArray

UNKNOWN = -2  # a foreign sample is -1
NEAR = 0.005  # rows of a class that lie within this of one another are duplicates, as in the paper
CHUNK = 1 << 20  # distances held at a time


@dataclass(frozen=True)
class Held:
    """What a memory holds at one moment, row by row, and the last samples of the stream."""

    label: IntArray  # [rows], as stored
    truth: IntArray  # [rows], UNKNOWN where nobody knows
    age: Floats  # [rows]
    points: Floats  # [rows, D]
    recent: Floats  # [samples, D]
    capacity: int
    num_classes: int

    @cached_property
    def counts(self) -> IntArray:
        """Rows of each class."""
        return np.bincount(self.label, minlength=self.num_classes)

    @cached_property
    def neighbour(self) -> Floats:
        """Of each row, the distance to the nearest other one of its class."""
        return nearest_in_class(self.points, self.label)


@dataclass(frozen=True)
class Measure:
    """A number of a memory, and how it is shown: in the table of the memory, over the stream, or not at all."""

    of: Callable[[Held], float | None]
    heading: str = ""  # of its column
    decimals: int = 1
    meaning: str = ""  # a sentence below the table
    curve: str = ""  # the title of its curve over the stream
    is_share: bool = False  # between 0 and 1


MEASURES = {
    "rows": Measure(lambda held: len(held.label), "rows"),
    "occupancy": Measure(lambda held: len(held.label) / max(held.capacity, len(held.label)), "occupancy", 2),
    "classes": Measure(lambda held: int((held.counts > 0).sum()), "classes"),
    "balance": Measure(
        lambda held: balance(held.counts),
        "balance",
        3,
        "Balance: entropy of the class counts, 1 = balanced.",
        "Class balance: 1 = every class alike",
        is_share=True,
    ),
    "purity": Measure(
        lambda held: purity(held.label, held.truth),
        "purity",
        3,
        "Purity: share of rows stored under their true label.",
        "Purity: share with the right label",
        is_share=True,
    ),
    "age_mean": Measure(lambda held: mean(held.age), "mean age", 0),
    "age_max": Measure(lambda held: int(held.age.max()) if len(held.age) else None),
    "near_duplicates": Measure(
        lambda held: mean((held.neighbour <= NEAR).astype(np.float64)),
        "near-duplicates",
        3,
        "Near-duplicates: share of rows with another of their class within 0.005.",
        "Near-duplicates: share within 0.005",
        is_share=True,
    ),
    "nn_distance": Measure(
        lambda held: mean(held.neighbour[np.isfinite(held.neighbour)]),
        "neighbour distance",
        4,
        "Neighbour distance: to the nearest row of the same class.",
    ),
    "coverage": Measure(
        lambda held: coverage(held.recent, held.points),
        "coverage",
        4,
        "Coverage: mean distance of the last 1,000 samples to their nearest row, lower is closer.",
        "Coverage: distance to the stream",
    ),
}


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


def nearest_in_class(points: Floats, label: IntArray) -> Floats:
    """For each row the distance to the nearest other row of its class; inf if there is none."""
    result = np.full(len(points), np.inf)
    for name in np.unique(label):
        rows = np.flatnonzero((label == name) & np.isfinite(points).all(1))
        if len(rows) > 1:
            result[rows] = nearest(points[rows], points[rows], skip_self=True)
    return result


def coverage(stream: Floats, stored: Floats) -> float | None:
    """Mean distance of the stream's samples to their nearest stored row."""
    if not len(stream) or not len(stored):
        return None
    stream, stored = (rows[np.isfinite(rows).all(1)] for rows in (stream, stored))
    return mean(nearest(stream, stored)) if len(stored) else None


def nearest(points: Floats, others: Floats, skip_self: bool = False) -> Floats:
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


def mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def principal_plane(points: Floats) -> tuple[Floats, Floats]:
    """The first two principal components `[N, 2]` of `points[N, D]`, and the share of the variance that each has.

    Which side of a component is positive is left to chance: a direction and its opposite are equally principal.
    """
    centred = points - points.mean(0)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    places = centred @ directions[:2].T
    squares = np.square(sizes)
    shares = squares[:2] / max(squares.sum(), np.finfo(np.float64).tiny)
    missing = 2 - places.shape[1]  # of points on a line
    return np.pad(places, ((0, 0), (0, missing))), np.pad(shares, (0, missing))
