"""The interval that one would first think of, to compare with: why no table uses it is in docs/statistics.md."""

import numpy as np


def bootstrap(table, level=0.95, draws=2000, seed=0):
    """The percentile interval of a two-way bootstrap: seeds and domains drawn anew, each with replacement."""
    table = np.asarray(table, np.float64)
    seeds, domains = table.shape
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, seeds, (draws, seeds))
    columns = rng.integers(0, domains, (draws, domains))
    means = table[rows[:, :, None], columns[:, None, :]].mean((1, 2))
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
