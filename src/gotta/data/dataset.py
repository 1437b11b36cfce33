"""Data sets by name, as the streams take them: labels, domains, and the images of a domain.

A data set may say how its pixels come about with `pixels_from`: `memory`, `files` (decoded when asked for) or
`corrupting` (costly work in Python); with `require(domains)` it may complain beforehand of what it cannot show; with
`content(domains)` it names the files or arrays that these images come from, which tell one version of it from another;
and `redrawn(copy)` is the same data set with other random draws.
"""

import inspect
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy as shallow
from functools import partial
from itertools import product
from typing import Any, Self

import numpy as np

from gotta.data.content import Content
from gotta.data.corruptions import EXTRA, SEVERITIES, STANDARD, TABLES, corrupt
from gotta.data.corruptions.draws import derive_seed
from gotta.data.corruptions.inputs import check_seed
from gotta.errors import GottaError, check_known, messages
from gotta.registry import Registry, has_method
from gotta.types import Dataset, Images, IntArray, domain_name

log = logging.getLogger(__name__)
CLEAN = "clean"
KEEP = 5000  # data sets up to this many images remember what they corrupted

DATASETS: Registry[Callable[..., Dataset]] = Registry(
    "data set",
    "gotta.data.sets",
    has_method("images", "domain", "indices"),
    "a class with images(self, domain, indices)",
)


def dataset(name: str, **arguments: Any) -> Dataset:
    """A data set by its name, or as `module:Class`.

    `name` is one of `gotta ls datasets`; `gotta show NAME` has its arguments.

    >>> from gotta.data import dataset
    >>> dataset("cifar10-mini").num_classes
    10
    """
    log.info("opening data set %s with %s", name, arguments)
    DATASETS.take(name)
    check_arguments(name, arguments)
    built: Dataset = DATASETS.build(name, **arguments)
    return built


def has_clips(name: str) -> bool:
    """Whether a data set of that name is a video, as far as its function says what it makes."""
    return bool(getattr(inspect.signature(DATASETS.get(name)).return_annotation, "is_video", False))


def check_arguments(name: str, arguments: dict[str, Any]) -> None:
    """Every argument that the data set does not know or still needs, in one error."""
    parameters = inspect.signature(DATASETS.get(name)).parameters
    mistakes = messages(partial(DATASETS.check_arguments, name, {argument: None}) for argument in arguments)
    for p in parameters.values():
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in arguments:
            mistakes.append(f"data set '{name}' needs the argument '{p.name}' (gotta bench, run: data.{p.name}=...).")
    if mistakes:
        raise GottaError(" ".join(mistakes))


def check_request(domain: str, indices: IntArray, domains: Sequence[str], count: int) -> IntArray:
    """The rows as an array, if the data set has this domain and these rows."""
    check_known("domain", domain, domains)
    rows = np.asarray(indices, np.int64)
    if len(rows) and not 0 <= rows.min() <= rows.max() < count:
        raise GottaError(f"rows go from {rows.min()} to {rows.max()}. Expected 0 to {count - 1}.")
    return rows


def known_first(corruptions: Collection[str]) -> list[str]:
    """Corruptions that are there: those that gotta knows in their usual order, then all others."""
    known = [name for name in (*STANDARD, *EXTRA) if name in corruptions]
    return [*known, *sorted(set(corruptions) - set(known))]


def count_classes(labels: IntArray, num_classes: int | None = None) -> int:
    """How many there are, unless it is said. Raises where a label is none of them."""
    if labels.ndim != 1:
        raise GottaError(f"labels have shape {list(labels.shape)}. Expected a whole number for each image.")
    low, high = (int(labels.min()), int(labels.max())) if len(labels) else (0, 0)
    count = high + 1 if num_classes is None else num_classes
    if not 0 <= low <= high < count:
        raise GottaError(f"labels go from {low} to {high}. Expected 0 to {count - 1}.")
    return count


class Corrupting:
    """Clean images, corrupted when asked for; an image's noise depends on the image, never on its company.

    A data set of this kind says with `read` what the clean images are.
    """

    pixels_from = "corrupting"
    domains: Sequence[str] = (CLEAN, *(domain_name(*each) for each in product((*STANDARD, *EXTRA), SEVERITIES)))

    def __init__(self, labels: IntArray, num_classes: int | None, table: str, seed: int) -> None:
        check_known("table of severities", table, TABLES)
        self.labels, self.num_classes = labels, count_classes(labels, num_classes)
        self.table, self.seed = table, check_seed(seed)

    def read(self, rows: IntArray) -> Images:
        raise NotImplementedError

    def named(self, rows: IntArray, corruption: str) -> IntArray:
        """The numbers that the random draws of images go by."""
        return rows

    def redrawn(self, copy: int) -> Self:
        """The same images with other random draws, where their corruption has any."""
        other = shallow(self)
        other.seed = derive_seed(self.seed, copy)
        return other

    def images(self, domain: str, indices: IntArray) -> Images:
        rows = check_request(domain, indices, self.domains, len(self.labels))
        clean = self.read(rows)
        if domain == CLEAN or not len(rows):
            return clean
        name, _, severity = domain.rpartition("-")
        return corrupt(clean, name, int(severity), self.table, self.seed, index=self.named(rows, name))


class Corrupted(Corrupting):
    """Clean images in memory; of few of them what was corrupted is kept.

    `images` are uint8 [N, H, W, 3], `labels` [N] of `num_classes` classes; `table` and `seed` are those of `corrupt`.

    >>> import numpy as np
    >>> from gotta.data import Corrupted
    >>> images, labels = np.zeros((4, 32, 32, 3), np.uint8), np.array([0, 1, 2, 0])
    >>> Corrupted(images, labels, num_classes=3).images("fog-5", [0, 2]).shape
    (2, 32, 32, 3)
    """

    def __init__(
        self, images: Images, labels: IntArray, num_classes: int | None, table: str = "cifar", seed: int = 0
    ) -> None:
        if len(images) != len(labels):
            raise GottaError(f"{len(images)} images and {len(labels)} labels do not belong together.")
        super().__init__(labels, num_classes, table, seed)
        self.clean, self._made = images, dict[str, tuple[Images, np.ndarray]]()
        self.pixels_from = "memory" if len(images) <= KEEP else "corrupting"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_made": {}}

    def content(self, domains: Sequence[str]) -> Iterator[Content]:
        yield from (self.clean, self.labels)

    def read(self, rows: IntArray) -> Images:
        return self.clean[rows]

    def images(self, domain: str, indices: IntArray) -> Images:
        if domain == CLEAN or len(self.clean) > KEEP:
            return super().images(domain, indices)
        rows = check_request(domain, indices, self.domains, len(self.clean))
        pixels, done = self._made.setdefault(domain, (np.empty_like(self.clean), np.zeros(len(self.clean), bool)))
        missing = np.unique(rows[~done[rows]])
        if len(missing):
            pixels[missing], done[missing] = super().images(domain, missing), True
        return pixels[rows]
