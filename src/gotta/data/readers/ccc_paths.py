"""Paths through two corruptions at constant accuracy (CCC, Press et al., 2023), from a network's measured accuracies.

A path begins with the first corruption alone and ends with the second alone. At each point one severity changes by a
quarter: the first falls or the second rises, whichever keeps the mean accuracy of the rest nearer to the baseline.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from gotta.data.archives import reading_error
from gotta.data.corruptions.between import NOTHING, STEPS
from gotta.data.corruptions.severities import SEVERITIES
from gotta.errors import GottaError
from gotta.json_yaml import read_json
from gotta.limits import require
from gotta.types import Floats, pair_name

USUAL = Path(__file__).parents[1] / "assets" / "ccc-resnet20.json"
HARDEST = float(SEVERITIES[-1])


def find_path(accuracy: Floats, baseline: float) -> list[tuple[int, int]]:
    """Rows (first severity) and columns (second) from the left edge to the upper one, as the published generator goes.

    >>> find_path(np.array([[90.0, 60.0], [50.0, 10.0]]), 50.0)
    [(1, 0), (1, 1), (0, 1)]
    """
    height, width = accuracy.shape
    total, length = np.full((height, width + 1), np.inf), np.ones((height, width + 1))
    total[0, :width] = accuracy[0]
    up = np.zeros((height, width), bool)  # whether the first severity falls next
    for j in reversed(range(width)):
        for i in range(1, height):
            here = accuracy[i, j]
            means = [(total[at] + here) / (length[at] + 1) for at in ((i - 1, j), (i, j + 1))]
            up[i, j] = abs(means[0] - baseline) < abs(means[1] - baseline)
            after = (i - 1, j) if up[i, j] else (i, j + 1)
            total[i, j], length[i, j] = total[after] + here, length[after] + 1
    i, j = 1 + int(np.abs(total[1:, 0] / length[1:, 0] - baseline).argmin()), 0
    path = [(i, j)]
    while i:
        i, j = (i - 1, j) if up[i, j] else (i, j + 1)
        path.append((i, j))
    return path


def refine(accuracy: Sequence[Sequence[float]], severities: Sequence[float]) -> Floats:
    """The accuracies at all quarters of a severity, linear between those that were measured."""
    quarters = np.arange(int(HARDEST) * STEPS + 1) / STEPS
    across = np.array([np.interp(quarters, severities, row) for row in accuracy])
    return np.array([np.interp(quarters, severities, column) for column in across.T]).T


class Calibration:
    """What a network was measured to get right under each pair of corruptions."""

    def __init__(self, content: Any) -> None:
        self.severities = [float(severity) for severity in content["severities"]]
        self.table = str(content["table"])
        self.accuracy = {str(pair): np.array(grid, np.float64) for pair, grid in content["accuracy"].items()}
        size = len(self.severities)
        rises = all(low < high for low, high in pairwise(self.severities))
        if size < 2 or not rises or (self.severities[0], self.severities[-1]) != (0, HARDEST):
            raise ValueError(f"severities must rise from 0 to 5, got {self.severities}")
        for pair, grid in self.accuracy.items():
            first, plus, second = pair.partition("+")
            sound = grid.shape == (size, size) and bool(((grid >= 0) & (grid <= 100)).all())
            if not sound or not plus or first == second or not {first, second} <= set(NOTHING):
                raise ValueError(f"'{pair}' must be two corruptions with {size} x {size} percentages")

    @classmethod
    def read(cls, path: Path | None = None) -> "Calibration":
        """From a file; without one that of the bundled network."""
        found = USUAL if path is None else path
        with reading_error(f"'{found}' is not a calibration", "Expected what benchmarks/calibrate.py writes."):
            return cls(read_json(found, links=True))

    def paths(self, baseline: float) -> dict[str, tuple[str, ...]]:
        """For each pair of corruptions that are hard enough for this baseline, the names of the points of its path."""
        require("baseline", baseline, float)
        # Of each corruption the accuracy without it and at its hardest.
        alone = {pair.partition("+")[0]: (grid[0, 0], grid[-1, 0]) for pair, grid in self.accuracy.items()}
        hard = {name for name, (_, hardest) in alone.items() if hardest <= baseline}
        highest = max((clean for clean, _ in alone.values()), default=0.0)
        if len(hard) < 2 or baseline >= highest:
            lowest = max(sorted(hardest for _, hardest in alone.values())[1:2], default=0.0)
            told = f"baseline={baseline!r}: no two corruptions lead there"
            raise GottaError(f"{told}. Expected an accuracy in percent, at least {lowest:g} and below {highest:g}.")
        return {
            pair: _name_points(pair, refine(grid.tolist(), self.severities), baseline)
            for pair, grid in self.accuracy.items()
            if hard.issuperset(pair.split("+"))
        }


def _name_points(pair: str, accuracy: Floats, baseline: float) -> tuple[str, ...]:
    first, _, second = pair.partition("+")
    return tuple(pair_name(first, i / STEPS, second, j / STEPS) for i, j in find_path(accuracy, float(baseline)))
