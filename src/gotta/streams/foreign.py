"""Foreign images in a stream: they belong to no class, and come between the others at random places."""

import numpy as np

from gotta.errors import GottaError
from gotta.streams.order import Rng
from gotta.types import Dataset, IntArray

NONE: IntArray = np.empty(0, np.int64)


def foreign_rows(dataset: Dataset) -> IntArray:
    """The rows of a data set's foreign images, none if it has none."""
    return np.asarray(getattr(dataset, "foreign", NONE), np.int64)


def mix_foreign(
    index: IntArray, domain: IntArray, rows: IntArray, share: float, domains: int, rng: Rng
) -> tuple[IntArray, IntArray]:
    """The samples of a pool in their order with foreign ones between them: that share of all, in the pool's domains."""
    if not len(rows):
        raise GottaError(f"foreign={share:g} asks for foreign images, and this data set has none. Use data set 'open'.")
    count = round(len(index) * share / (1 - share))
    there = len(rows) * domains
    if count > there:
        most = there / (there + len(index))
        raise GottaError(
            f"foreign={share:g} of a domain are {count} images, but there are only {there}. "
            f"Use foreign <= {most:.2g}, fewer images, or more foreign ones (number=...)."
        )
    chosen = rng.permutation(there)[:count]
    is_foreign = np.zeros(len(index) + count, bool)
    is_foreign[rng.permutation(len(is_foreign))[:count]] = True
    mixed, where = np.empty(len(is_foreign), np.int64), np.empty(len(is_foreign), np.int64)
    mixed[~is_foreign], where[~is_foreign] = index, domain
    mixed[is_foreign], where[is_foreign] = rows[chosen % len(rows)], chosen // len(rows)
    return mixed, where
