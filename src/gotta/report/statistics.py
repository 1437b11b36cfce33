"""Intervals for a mean over seeds and domains, and what they cover. docs/statistics.md says why these."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gotta.errors import GottaError

LEVEL = 0.95
NO_INTERVAL = "no interval"
ENOUGH = 3  # seeds: from two, t with one degree of freedom makes intervals that say nothing
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean with half its interval; without a spread to judge by there is no interval."""

    mean: float
    half: float | None
    level: float
    seeds: int
    domains: int
    over: str

    @property
    def low(self) -> float | None:
        return None if self.half is None else self.mean - self.half

    @property
    def high(self) -> float | None:
        return None if self.half is None else self.mean + self.half

    @property
    def distinguishable(self) -> bool:
        """Does the interval leave out zero? Without an interval nothing is claimed."""
        return self.half is not None and abs(self.mean) > self.half

    @property
    def covers(self) -> str:
        """What the interval speaks about, in words."""
        few = "one seed" if self.seeds == 1 else f"{self.seeds} seeds"
        if self.half is None:
            return f"{NO_INTERVAL}: {few}" if self.over == "seeds" else f"{NO_INTERVAL}: {few} and one domain"
        if self.over == "seeds":
            return f"other seeds, on these domains (n={self.seeds})"
        if self.seeds < ENOUGH:
            return f"other domains like these {self.domains}; {few}, so other streams are not covered"
        if self.domains == 1:
            return f"other seeds (n={self.seeds}), on this domain"
        return f"other seeds (n={self.seeds}) and other domains like these {self.domains}"


def estimate(values: ArrayLike, level: float = LEVEL, over: str = "both") -> Estimate:
    """The mean of `values[seed, domain]` with an interval over seeds and domains, or over seeds alone.

    The squared half width is that of Student's t over the means of the seeds, plus that over the means of the domains
    where they vary more than seeds and chance explain. Fewer than three seeds are taken as they are: the interval is
    then over domains alone.
    """
    table = _check_values(values, level)
    if over not in ("both", "seeds"):
        raise GottaError(f"over='{over}' is unknown. Expected both or seeds.")
    seeds, domains = table.shape
    mean = float(table.mean())
    parts = []
    if seeds >= ENOUGH:
        parts.append(_squared_t(seeds - 1, level) * float(table.mean(1).var(ddof=1)) / seeds)
    if over == "both" and domains > 1:
        spread = float(table.mean(0).var(ddof=1)) / domains
        chance = _interaction(table) / (seeds * domains) if seeds >= ENOUGH else 0.0
        parts.append(_squared_t(domains - 1, level) * max(0.0, spread - chance))
    half = sqrt(sum(parts)) if parts else None
    return Estimate(mean, half, level, seeds, domains, over)


def _check_values(values: ArrayLike, level: float) -> Floats:
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise GottaError(f"expected finite numbers [seeds, domains], at least one; got shape {table.shape}.")
    if not 0 < level < 1:
        raise GottaError(f"level must be between 0 and 1, such as 0.95 (got {level}).")
    return table


def _squared_t(degrees: int, level: float) -> float:
    from scipy.special import stdtrit  # here, so that a table without intervals does not wait for it

    return float(stdtrit(degrees, (1 + level) / 2)) ** 2


def _interaction(table: Floats) -> float:
    """The variance left when seeds and domains have explained what they can."""
    seeds, domains = table.shape
    rest = table - table.mean(0) - table.mean(1, keepdims=True) + table.mean()
    squares: float = float(np.square(rest).sum())
    return squares / float((seeds - 1) * (domains - 1))
