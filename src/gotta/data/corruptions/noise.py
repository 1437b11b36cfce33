"""Noise that hits every value on its own.

What comes out depends only on the value that goes in, so each noise is a table of probabilities [256 in, 256 out],
and one 32-bit random word per value samples it by Walker's alias method. The table is that of the published formula
with its clipping and cutting to bytes; the sampling rounds probabilities to 2**-32.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, pdtrc, xlogy

from gotta.data.corruptions.draws import Draws
from gotta.data.corruptions.severities import Parameters
from gotta.types import Images

Table = NDArray[np.float64]
_VALUES = np.arange(256.0)


def gaussian_noise(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Add Gaussian noise of one standard deviation."""
    return _apply(images, _sampler(_gaussian_table, parameters[0]), draws)


def shot_noise(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Count photons: a Poisson variable with a mean proportional to the value."""
    return _apply(images, _sampler(_shot_table, int(parameters[0])), draws)


def impulse_noise(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Set a share of the values to black or white."""
    return _apply(images, _sampler(_impulse_table, parameters[0]), draws)


def speckle_noise(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Add Gaussian noise of a standard deviation proportional to the value."""
    return _apply(images, _sampler(_speckle_table, parameters[0]), draws)


def _normal_table(sd: NDArray[np.float64]) -> Table:
    """P(out | in) when out is in + sd[in] * z, clipped and cut to a byte."""
    with np.errstate(divide="ignore", invalid="ignore"):
        above = ndtr((_VALUES[:, None] - _VALUES[None, 1:]) / sd[:, None])
    above[sd == 0] = _VALUES[sd == 0, None] >= _VALUES[None, 1:]
    edges = np.hstack([np.ones((256, 1)), above, np.zeros((256, 1))])
    return np.asarray(edges[:, :-1] - edges[:, 1:])


def _gaussian_table(sd: float) -> Table:
    return _normal_table(np.full(256, 255 * sd))


def _speckle_table(sd: float) -> Table:
    return _normal_table(_VALUES * sd)


def _shot_table(photons: int) -> Table:
    """P(out | in) when out is a count of photons, at most `photons`, as a share of them."""
    counts, mean = np.arange(photons + 1), _VALUES / 255.0 * photons
    chance = np.exp(xlogy(counts, mean[:, None]) - mean[:, None] - gammaln(counts + 1.0))
    chance[:, -1] = pdtrc(photons - 1, mean)
    levels = (counts / photons * 255).astype(np.uint8)
    table = np.zeros((256, 256))
    np.add.at(table.T, levels, chance.T)
    return table


def _impulse_table(amount: float) -> Table:
    table = np.eye(256) * (1 - amount)
    table[:, [0, 255]] += amount / 2
    return table


@lru_cache(maxsize=64)
def _sampler(make: Callable[[Any], Table], strength: float) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """For each value and column: keep the column if 24 random bits are below the threshold, else take the alias.

    Each step settles, in all 256 rows at once, the smallest open column with what it lacks from the largest.
    """
    table = make(strength)
    low = table / table.sum(1, keepdims=True) * 256  # what each open column has; settled ones stand aside at infinity
    high, rows = low.copy(), np.arange(256)
    threshold, other = np.ones((256, 256)), np.tile(np.arange(256, dtype=np.uint8), (256, 1))
    for _ in range(255):
        poor, rich = low.argmin(1), high.argmax(1)
        kept = np.minimum(low[rows, poor], 1)
        threshold[rows, poor], other[rows, poor] = kept, rich
        low[rows, rich] -= 1 - kept
        high[rows, rich] = low[rows, rich]
        low[rows, poor], high[rows, poor] = np.inf, -np.inf
    return np.round(threshold * 2**24).astype(np.uint32).ravel(), other.ravel()


def _apply(images: Images, sampler: tuple[NDArray[np.uint32], NDArray[np.uint8]], draws: Draws) -> Images:
    threshold, other = sampler
    words = draws.words(*images.shape[1:])
    column = words.astype(np.uint8)
    cell = (images.astype(np.int64) << 8) | column
    words >>= 8
    return np.where(words < threshold.take(cell), column, other.take(cell))
