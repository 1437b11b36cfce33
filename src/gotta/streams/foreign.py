"""Foreign images in a stream: they belong to no class, and come between the others at random places."""

from itertools import pairwise

import numpy as np

from gotta.errors import GottaError
from gotta.seeds import legacy_generator
from gotta.streams.order import Rng
from gotta.streams.stream_spec import StreamSpec
from gotta.types import Dataset, IntArray


def foreign_rows(dataset: Dataset) -> IntArray:
    """The rows of a data set's foreign images, none if it has none."""
    return np.asarray(getattr(dataset, "foreign", []), np.int64)


def mix_foreign(
    index: IntArray, domain: IntArray, starts: list[int], dataset: Dataset, spec: StreamSpec
) -> tuple[IntArray, IntArray, list[int]]:
    """The samples in their order with foreign ones between them, in each stretch its share; and where these start now.

    The places are drawn apart, so that the known samples come as they do without foreign ones.
    """
    rows, rng = foreign_rows(dataset), legacy_generator(spec.seed, "foreign")
    if not len(rows):
        told = f"foreign={spec.foreign:g} asks for foreign images, and this data set has none."
        raise GottaError(f"{told} Use data set 'open'.")
    mixed = [
        _mix(index[begin:end], domain[begin:end], rows, spec.foreign, rng)
        for begin, end in pairwise([*starts, len(index)])
    ]
    sizes = [len(found) for found, _ in mixed]
    moved = np.cumsum([0, *sizes[:-1]]).tolist()
    return np.concatenate([found for found, _ in mixed]), np.concatenate([visit for _, visit in mixed]), moved


def _mix(index: IntArray, domain: IntArray, rows: IntArray, share: float, rng: Rng) -> tuple[IntArray, IntArray]:
    visits = np.unique(domain)
    count, there = round(len(index) * share / (1 - share)), len(rows) * len(visits)
    if count > there:
        way_out = f"Use foreign <= {there / (there + len(index)):.2g}, fewer images, or more foreign ones (number=...)."
        raise GottaError(f"foreign={share:g} of a domain are {count} images, but there are only {there}. {way_out}")
    chosen = rng.permutation(there)[:count]
    is_foreign = np.zeros(len(index) + count, bool)
    is_foreign[rng.permutation(len(is_foreign))[:count]] = True
    mixed, where = np.empty(len(is_foreign), np.int64), np.empty(len(is_foreign), np.int64)
    mixed[~is_foreign], where[~is_foreign] = index, domain
    mixed[is_foreign], where[is_foreign] = rows[chosen % len(rows)], visits[chosen // len(rows)]
    return mixed, where
