"""What to check orders and schedules on: labels of several shapes, and a data set that has nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from gotta.checks.suite import Pick
from gotta.types import Images, IntArray, domain_name, pair_name

SHAPES = ("balanced", "one class", "gaps", "skewed", "sorted")
NAMES = ("snow", "fog", "frost", "contrast", "pixelate", "glass_blur")


@dataclass(frozen=True)
class Case:
    """A data set and the domains to visit, as a few words and numbers."""

    shape: str
    num_classes: int
    count: int
    domains: int
    seed: int

    @property
    def labels(self) -> IntArray:
        rng = np.random.default_rng([self.seed, SHAPES.index(self.shape)])
        label = np.arange(self.count, dtype=np.int64) % self.num_classes
        if self.shape == "one class":
            label[:] = self.num_classes - 1
        if self.shape == "gaps":
            label -= label % 2
        if self.shape == "skewed":
            label = (label * rng.random(self.count)).astype(np.int64)
        return np.sort(label) if self.shape == "sorted" else rng.permutation(label)

    @property
    def names(self) -> list[str]:
        """Corruptions with a severity; in some cases the ways from one to another, if there are two."""
        if self.seed % 4 == 2 and self.domains > 1:
            return ways(NAMES[: self.domains])
        return [domain_name(name, 3 + self.seed % 3) for name in NAMES[: self.domains]]


def ways(names: Sequence[str]) -> list[str]:
    """From each to each other in three steps."""
    return [pair_name(a, 1 - s, b, s) for a, b in permutations(names, 2) for s in (0, 0.5, 1)]


class Labelled:
    """A data set of one grey pixel per image, in any domain."""

    def __init__(self, case: Case) -> None:
        self.labels, self.num_classes = case.labels, case.num_classes
        self.domains = [domain_name(name, severity) for name in NAMES for severity in range(1, 6)] + ways(NAMES)

    def images(self, domain: str, indices: IntArray) -> Images:
        return np.full((len(indices), 1, 1, 3), self.domains.index(domain), np.uint8)


def draw(pick: Pick) -> Case:
    """A case from a source of whole numbers between two bounds."""
    return Case(
        shape=SHAPES[pick(0, len(SHAPES) - 1)],
        num_classes=pick(1, 12),
        count=pick(1, 200),
        domains=pick(1, len(NAMES)),
        seed=pick(0, 2**16),
    )


def size(case: Case) -> tuple[int, ...]:
    return case.count, case.domains, case.num_classes, SHAPES.index(case.shape), case.seed
