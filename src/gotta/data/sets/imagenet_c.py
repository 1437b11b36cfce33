"""ImageNet-C as published: `<corruption>/<severity>/<wnid>/<image>`, 224 x 224 pixels, never resized."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from gotta.data.classes import chosen, number_classes
from gotta.data.content import Content
from gotta.data.corruptions import SEVERITIES, STANDARD
from gotta.data.dataset import DATASETS, check_request, known_first
from gotta.data.home import find
from gotta.data.local.catalogue import usual_names
from gotta.data.readers.pictures import Pictures, decode, subfolders
from gotta.errors import GottaError, check_known
from gotta.types import Images, IntArray, domain_name

GROUPS = ("noise", "blur", "weather", "digital", "extra")  # the archives as people unpack them


class ImageNetC:
    """The image files of a folder of corruptions; a domain that is not complete is an error when it is asked for."""

    pixels_from = "files"

    def __init__(
        self,
        root: Path,
        subset: str | None = None,
        size: int = 224,
        class_index: str | None = None,
        num_classes: int | None = None,
    ) -> None:
        self.root, self.size = root, size
        self._folders = _domains(root)
        self._classes = {name: {path.name for path in subfolders(folder)} for name, folder in self._folders.items()}
        every = set().union(*self._classes.values())
        complete = [name for name, classes in self._classes.items() if classes == every]
        if not complete:
            raise GottaError(f"no domain in '{root}' has all {len(every)} classes. Unpack the archives again.")
        pictures = chosen(Pictures.of(self._folders[complete[0]]), subset)
        self.labels, self.num_classes = number_classes(pictures, class_index, num_classes)
        self.names, self.classes = pictures.names, pictures.classes
        self.domains: Sequence[str] = tuple(self._folders)

    def require(self, domains: Sequence[str]) -> None:
        """Complain now of what these domains lack, not in the middle of a run."""
        for domain in dict.fromkeys(domains):
            check_known("domain", domain, self.domains)
            missing = sorted(set(self.classes) - self._classes[domain])
            if missing:
                told = f"'{self._folders[domain]}' has {len(self._classes[domain])} of {len(self.classes)} classes"
                raise GottaError(f"{told}: no {', '.join(missing[:3])}. Unpack it again, or leave out {domain}.")

    def content(self, domains: Sequence[str]) -> Iterator[Content]:
        yield self.labels
        for domain in domains:
            yield tuple(self._folders[domain] / name for name in self.names)

    def images(self, domain: str, indices: IntArray) -> Images:
        indices = check_request(domain, indices, self.domains, len(self.labels))
        images = np.empty((len(indices), self.size, self.size, 3), np.uint8)
        for at, row in enumerate(indices):
            images[at] = self._image(self._folders[domain] / self.names[row])
        return images

    def _image(self, path: Path) -> Images:
        if not path.is_file():
            raise GottaError(f"no '{path}', which other domains have. Unpack this one again.")
        image = decode(path, path)
        if image.size != (self.size, self.size):
            told = f"'{path}' has {image.size[0]} x {image.size[1]} pixels. Expected {self.size} x {self.size}"
            raise GottaError(f"{told}, as these images are shown as they are: give the size=... that all of them have.")
        return np.asarray(image)


@DATASETS.register("imagenet_c")
def imagenet_c(
    path: str | None = None,
    subset: str | None = None,
    size: int = 224,
    class_index: str | None = None,
    num_classes: int | None = None,
) -> ImageNetC:
    """ImageNet-C in its published folders, all images or a list of them such as `robustbench-5k`."""
    root = find("data set 'imagenet_c'", path, *usual_names("imagenet_c"))
    return ImageNetC(root, subset, size, class_index, num_classes)


def _domains(root: Path) -> dict[str, Path]:
    """The folder of each domain, known corruptions first."""
    tops = (root, *(root / group for group in GROUPS))
    folders = {path.name: path for top in tops for path in subfolders(top)}
    places = product(known_first(folders.keys() - set(GROUPS)), SEVERITIES)
    found = {domain_name(name, severity): folders[name] / str(severity) for name, severity in places}
    found = {domain: folder for domain, folder in found.items() if folder.is_dir()}
    if not found:
        raise GottaError(f"no corruptions in '{root}'. Expected {root}/{STANDARD[0]}/5/<wnid>/<image>.JPEG.")
    return found
