"""Images that come several times, each time with random draws of their own."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from gotta.types import Dataset, Images, IntArray

COMPARED = 4  # images that tell whether a domain is drawn at all


K = TypeVar("K", bound=Hashable)


def read_together(where: Sequence[K], rows: IntArray, read: Callable[[K, IntArray], Images]) -> Images:
    """The pixels of rows, those that are in one place read at once."""
    if len(set(where)) == 1:
        return read(where[0], rows)
    masks = {place: np.array([one == place for one in where]) for place in dict.fromkeys(where)}
    parts = [read(place, rows[mask]) for place, mask in masks.items()]
    whole = np.empty((len(where), *parts[0].shape[1:]), np.uint8)
    for mask, part in zip(masks.values(), parts, strict=True):
        whole[mask] = part
    return whole


class Redrawn:
    """A data set `copies` times over: row `k * N + i` is image i, drawn for the k-th time.

    Copy 0 is the data set itself; `dataset.redrawn(k)` gives the others. A data set without it repeats its images.
    """

    def __init__(self, dataset: Dataset, copies: int) -> None:
        again: Any = getattr(dataset, "redrawn", lambda copy: dataset)
        self.copies: list[Dataset] = [dataset, *(again(copy) for copy in range(1, copies))]
        self.labels: IntArray = np.tile(dataset.labels, copies)
        self.domains, self.num_classes = dataset.domains, dataset.num_classes
        self.pixels_from = getattr(dataset, "pixels_from", "memory")
        self.foreign = getattr(dataset, "foreign", np.empty(0, np.int64))

    def require(self, domains: Sequence[str]) -> None:
        if hasattr(self.copies[0], "require"):
            self.copies[0].require(domains)

    def content(self, domains: Sequence[str]) -> Any:
        return self.copies[0].content(domains) if hasattr(self.copies[0], "content") else ()

    def images(self, domain: str, indices: IntArray) -> Images:
        copy, row = np.divmod(np.asarray(indices, np.int64), len(self.copies[0].labels))
        return read_together(copy.tolist() or [0], row, lambda k, rows: self.copies[k].images(domain, rows))

    def repeats(self, domains: Sequence[str]) -> list[str]:
        """The domains whose images are the same each time: nothing about them is random."""
        rows = np.arange(min(COMPARED, len(self.copies[0].labels)))
        first, second = self.copies[:2]
        return [
            name
            for name in dict.fromkeys(domains)
            if np.array_equal(first.images(name, rows), second.images(name, rows))
        ]
