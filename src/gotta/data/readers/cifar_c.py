"""CIFAR-10-C and CIFAR-100-C as published: one array per corruption, the five severities one after the other.

The arrays are mapped, never loaded: a batch costs the rows it shows.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gotta.data.archives import reading_error
from gotta.data.content import Content
from gotta.data.corruptions import SEVERITIES, STANDARD
from gotta.data.dataset import check_request, known_first
from gotta.errors import GottaError, check_known
from gotta.types import Images, IntArray, domain_name

LABELS = "labels.npy"
SIDE = 32


class CifarC:
    """The corrupted images of a folder with `<corruption>.npy` and `labels.npy`; only what is shown is looked at."""

    pixels_from = "files"

    def __init__(self, folder: Path, num_classes: int) -> None:
        self.folder, self.num_classes = folder, num_classes
        if not folder.is_dir():
            raise GottaError(f"'{folder}' is not a folder. Expected one with {LABELS} and <corruption>.npy; unpack it.")
        self.labels: IntArray = _labels(folder / LABELS, num_classes)
        names = known_first({path.stem for path in folder.glob("*.npy")} - {Path(LABELS).stem})
        if not names:
            raise GottaError(f"'{folder}' holds no <corruption>.npy, such as {STANDARD[0]}.npy. Unpack it again.")
        self.domains: Sequence[str] = tuple(domain_name(name, s) for name in names for s in SEVERITIES)
        self._mapped: dict[str, NDArray[np.uint8]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_mapped": {}}

    def require(self, domains: Sequence[str]) -> None:
        """Complain now of the files of these domains, not in the middle of a run."""
        for domain in dict.fromkeys(domains):
            check_known("domain", domain, self.domains)
            self._rows(domain.rpartition("-")[0])

    def content(self, domains: Sequence[str]) -> Iterator[Content]:
        yield self.labels
        yield from (self.folder / f"{name}.npy" for name in dict.fromkeys(d.rpartition("-")[0] for d in domains))

    def images(self, domain: str, indices: IntArray) -> Images:
        indices = check_request(domain, indices, self.domains, len(self.labels))
        name, _, severity = domain.rpartition("-")
        return np.asarray(self._rows(name)[(int(severity) - 1) * len(self.labels) + indices])

    def _rows(self, name: str) -> NDArray[np.uint8]:
        if name not in self._mapped:
            path, shape = self.folder / f"{name}.npy", (len(SEVERITIES) * len(self.labels), SIDE, SIDE, 3)
            mapped = load_array(path)
            if mapped.dtype != np.uint8 or mapped.shape != shape:
                expected = f"uint8 of shape {list(shape)}: five severities of the images that {LABELS} names"
                raise GottaError(f"'{path}' holds {mapped.dtype} of shape {list(mapped.shape)}. Expected {expected}.")
            self._mapped[name] = np.asarray(mapped)  # still mapped, without the overhead of the class memmap
        return self._mapped[name]


def load_array(path: Path) -> NDArray[Any]:
    """A mapped .npy file; whatever is wrong with it is one error."""
    if not path.is_file():  # a pipe would wait for somebody to write to it
        raise GottaError(f"no '{path}'. Unpack the archive again, or leave this out.")
    with reading_error(f"'{path}' is not a complete NumPy file", "Download it again."):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray):
        raise GottaError(f"'{path}' is an archive of arrays. Expected one array.")
    return array


def _labels(path: Path, num_classes: int) -> IntArray:
    """The labels of one severity, of a file that has them once for each of the five."""
    labels = load_array(path)
    if labels.ndim != 1 or not np.issubdtype(labels.dtype, np.integer) or not len(labels):
        raise GottaError(f"'{path}' holds {labels.dtype} of shape {list(labels.shape)}. Expected a list of labels.")
    once = labels[: len(labels) // len(SEVERITIES)].astype(np.int64)
    if not np.array_equal(labels, np.tile(once, len(SEVERITIES))):
        raise GottaError(f"'{path}' has {len(labels):,} labels. Expected the same list five times, as published.")
    if not 0 <= once.min() <= once.max() < num_classes:
        raise GottaError(f"'{path}': labels go from {once.min()} to {once.max()}. Expected 0 to {num_classes - 1}.")
    return once
