"""Corruptions that change all the time at constant accuracy (CCC, Press et al., 2023), by our own generator."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from gotta.data.content import Content
from gotta.data.corruptions import corrupt
from gotta.data.corruptions.inputs import check_seed
from gotta.data.dataset import CLEAN, DATASETS, check_request
from gotta.data.readers.ccc_paths import Calibration
from gotta.errors import GottaError
from gotta.types import Dataset, Images, IntArray, read_pair


class Blended:
    """The clean images of a data set under two corruptions; the domains are the points of all paths."""

    pixels_from = "corrupting"

    def __init__(self, known: Dataset, paths: dict[str, tuple[str, ...]], table: str, seed: int = 0) -> None:
        if CLEAN not in known.domains or hasattr(known, "clips"):
            raise GottaError("two corruptions need clean images to begin with. Name a data set that has them.")
        self.known, self.table, self.seed = known, table, check_seed(seed)
        self.labels, self.num_classes = known.labels, known.num_classes
        self.domains: Sequence[str] = tuple(name for path in paths.values() for name in path)

    def content(self, domains: Sequence[str]) -> Iterator[Content]:
        yield self.labels
        yield from self.known.content([CLEAN]) if hasattr(self.known, "content") else ()

    def images(self, domain: str, indices: IntArray) -> Images:
        rows = check_request(domain, indices, self.domains, len(self.labels))
        images = self.known.images(CLEAN, rows)
        for name, severity in read_pair(domain) or () if len(rows) else ():
            images = corrupt(images, name, severity, self.table, self.seed, rows)
        return images


@DATASETS.register("ccc")
def ccc(known: str = "cifar10-mini", baseline: float = 55.0, calibration: str | None = None, seed: int = 0) -> Blended:
    """Two corruptions on each image, changing smoothly at constant accuracy of a network; for the schedule `walk`."""
    measured = Calibration.read(None if calibration is None else Path(calibration).expanduser())
    own: Dataset = DATASETS.get(known)()
    return Blended(own, measured.paths(baseline), measured.table, seed)
