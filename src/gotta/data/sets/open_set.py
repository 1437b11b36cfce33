"""Open set: a data set with foreign images beside its own, which belong to none of its classes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from gotta.data.content import Content
from gotta.data.dataset import CLEAN, DATASETS, Corrupted, check_request
from gotta.data.home import find
from gotta.data.readers.bundled import bundled
from gotta.data.readers.patterns import KINDS, make_patterns, scramble
from gotta.data.readers.pictures import Fit, Pictures
from gotta.errors import GottaError, check_known
from gotta.limits import Count, require
from gotta.types import FOREIGN, Dataset, Images, IntArray


class OpenSet:
    """The rows of `known`, then foreign images with the label FOREIGN; these are corrupted as the known ones are.

    `foreign` are the rows of the foreign images: a stream shows as many of them as its setting `foreign` says.
    """

    def __init__(self, known: Dataset, foreign: Images, table: str = "cifar", seed: int = 0) -> None:
        if hasattr(known, "clips"):
            raise GottaError("foreign images cannot be mixed into a video. Name a data set of images as the known one.")
        self.known, self.num_classes, self.domains = known, known.num_classes, known.domains
        self.pixels_from = getattr(known, "pixels_from", "memory")
        self._others = Corrupted(foreign, np.zeros(len(foreign), np.int64), 1, table, seed)
        self._count = len(known.labels)
        self.labels: IntArray = np.concatenate([known.labels, np.full(len(foreign), FOREIGN)]).astype(np.int64)
        self.foreign: IntArray = np.arange(self._count, len(self.labels))

    def require(self, domains: Sequence[str]) -> None:
        if hasattr(self.known, "require"):
            self.known.require(domains)
        for domain in dict.fromkeys(domains):
            check_known("domain", domain, self.domains)
            if domain not in self._others.domains:
                raise GottaError(f"foreign images cannot be shown in '{domain}', which cannot be made.")

    def content(self, domains: Sequence[str]) -> Iterator[Content]:
        yield self.labels
        yield from self.known.content(domains) if hasattr(self.known, "content") else ()
        yield self._others.clean

    def images(self, domain: str, indices: IntArray) -> Images:
        rows = check_request(domain, indices, self.domains, len(self.labels))
        own = rows < self._count
        if own.all():
            return self.known.images(domain, rows)
        others = self._others.images(domain, rows[~own] - self._count)
        images = np.empty((len(rows), *others.shape[1:]), np.uint8)
        images[~own] = others
        if own.any():
            images[own] = self.known.images(domain, rows[own])
        return images


@DATASETS.register("open")
def open_set(
    known: str = "cifar10-mini", foreign: str = "patterns", number: int = 500, table: str = "cifar", seed: int = 0
) -> OpenSet:
    """A data set by name with foreign images: those of another one by name, or of your folder `<class>/<image>`."""
    require("number", number, Count)
    own: Dataset = DATASETS.get(known)()
    side = own.images(own.domains[0], np.array([0])).shape[1]
    return OpenSet(own, _foreign_images(foreign, number, side), table, seed)


@DATASETS.register("patterns")
def patterns(number: int = 500, side: int = 32, table: str = "cifar", seed: int = 0) -> Corrupted:
    """Computed clouds, stripes, checks, rings and noise, which show no object: foreign images for an open set."""
    images, kind = make_patterns(number, side, seed)
    return Corrupted(images, kind, len(KINDS), table, seed)


@DATASETS.register("scrambled")
def scrambled(table: str = "cifar", seed: int = 0) -> Corrupted:
    """The bundled 500 training images of CIFAR-10 in shuffled tiles, without their objects: foreign, yet alike."""
    images, labels, _ = bundled("train")
    return Corrupted(scramble(images, seed), labels, 10, table, seed)


def _foreign_images(name: str, number: int, side: int) -> Images:
    """So many images, spread evenly over the data set or folder of that name, clean, as squares of that side."""
    fit = Fit(side)
    if name not in DATASETS.names() and ":" not in name and _is_place(name):
        pictures = Pictures.of(find("foreign images", name))
        return pictures.read(_spread(len(pictures), number, name), fit)
    data: Any = DATASETS.get(name)()
    if CLEAN not in data.domains:
        raise GottaError(f"data set '{name}' has no clean images, so it cannot be the foreign one. Name another.")
    images = data.images(CLEAN, _spread(len(data.labels), number, name))
    return np.stack([np.asarray(fit(Image.fromarray(image))) for image in images])


def _is_place(name: str) -> bool:
    return "/" in name or name.endswith(".zip") or Path(name).is_dir()


def _spread(count: int, number: int, name: str) -> IntArray:
    if number > count:
        raise GottaError(f"number={number} foreign images, but '{name}' has only {count}. Use number <= {count}.")
    return np.linspace(0, count - 1, number).round().astype(np.int64)
