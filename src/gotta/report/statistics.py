"""Intervals for a mean over seeds and domains, and what they cover. docs/statistics.md says why these."""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gotta.errors import GottaError

LEVEL = 0.95
SEEDS, PAIRS = 2, 5  # a verdict needs so many seeds, and so many pairs of seed and domain
WIDE = 5.0  # points: an interval wider than this leaves a difference undecided rather than small
FOR_A_CELL = 3  # seeds: t with one degree of freedom says nothing about a single number
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean with half its interval, or with the range of its values where they are too few for an interval."""

    mean: float
    half: float | None
    range: tuple[float, float]
    seeds: int
    domains: int

    @property
    def verdict(self) -> int | None:
        """1 is significantly above zero, -1 below, 0 neither. Without an interval nothing is claimed."""
        if self.half is None:
            return None
        return int(np.sign(self.mean)) if abs(self.mean) > self.half else 0

    @property
    def pairs(self) -> int:
        return self.seeds * self.domains


def enough_for_a_verdict(seeds: int, domains: int) -> bool:
    return seeds >= SEEDS and seeds * domains >= PAIRS


def estimate(values: ArrayLike) -> Estimate:
    """The mean of `values[seed, domain]` with its interval over other seeds and other domains.

    The squared half width is that of Student's t over the means of the seeds, plus that over the means of the domains
    where they vary more than seeds and chance explain.
    """
    table = _check_values(values)
    return _estimate(table, enough_for_a_verdict(*table.shape))


def estimate_over_seeds(values: ArrayLike) -> Estimate:
    """The mean of `values[seed]` with its interval over other seeds, on the same domains."""
    table = _check_values(np.asarray(values, np.float64)[:, None])
    return _estimate(table, len(table) >= FOR_A_CELL)


def _estimate(table: Floats, enough: bool) -> Estimate:
    half = _half(table) if enough else None
    return Estimate(float(table.mean()), half, (float(table.min()), float(table.max())), *table.shape)


def _half(table: Floats) -> float:
    seeds, domains = table.shape
    squared = _squared_t(seeds - 1) * float(table.mean(1).var(ddof=1)) / seeds
    if domains > 1:
        spread = float(table.mean(0).var(ddof=1)) / domains
        squared += _squared_t(domains - 1) * max(0.0, spread - _interaction(table) / table.size)
    return sqrt(squared)


def predict_half(table: Floats, seeds: int, domains: int) -> float:
    """What the half width would be with so many seeds and domains, if they vary as those in the table do; infinite
    where these are too few for a verdict.

    One seed, or one domain, does not tell how others vary: its spread is taken for chance.
    """
    if not enough_for_a_verdict(seeds, domains):
        return inf
    have_seeds, have_domains = table.shape
    both = have_seeds > 1 and have_domains > 1
    chance = _interaction(table) if both else float(table.var(ddof=1)) if table.size > 1 else 0.0
    of_seeds = max(0.0, float(table.mean(1).var(ddof=1)) - chance / have_domains) if both else 0.0
    of_domains = max(0.0, float(table.mean(0).var(ddof=1)) - chance / have_seeds) if both else 0.0
    squared = _squared_t(seeds - 1) * (of_seeds + chance / domains) / seeds
    return sqrt(squared + (_squared_t(domains - 1) * of_domains / domains if domains > 1 else 0.0))


def _check_values(values: ArrayLike) -> Floats:
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise GottaError(f"expected finite numbers [seeds, domains], at least one; got shape {table.shape}.")
    return table


def _squared_t(degrees: int) -> float:
    from scipy.special import stdtrit  # here, so that a table without intervals does not wait for it

    return float(stdtrit(degrees, (1 + LEVEL) / 2)) ** 2


def _interaction(table: Floats) -> float:
    """The variance left when seeds and domains have explained what they can."""
    seeds, domains = table.shape
    rest = table - table.mean(0) - table.mean(1, keepdims=True) + table.mean()
    squares: float = float(np.square(rest).sum())
    return squares / float((seeds - 1) * (domains - 1))
