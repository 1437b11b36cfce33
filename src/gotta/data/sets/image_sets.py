"""Data sets of image files by class, corrupted when asked for: a folder of one's own, and Tiny-ImageNet."""

from collections.abc import Iterator, Sequence

from gotta.data.classes import chosen, number_classes
from gotta.data.content import Content
from gotta.data.dataset import DATASETS, Corrupting
from gotta.data.home import find
from gotta.data.readers.pictures import Fit, Pictures, noise_index
from gotta.data.readers.tiny_imagenet import TINY, tiny_pictures
from gotta.types import Images, IntArray


class CorruptedFiles(Corrupting):
    """Image files, decoded and corrupted when asked for. An image's noise depends on its class and file name alone."""

    def __init__(self, pictures: Pictures, fit: Fit, labels: IntArray, num_classes: int, table: str, seed: int) -> None:
        super().__init__(labels, num_classes, table, seed)
        self.pictures, self.fit = pictures, fit

    def content(self, domains: Sequence[str]) -> Iterator[Content]:
        yield from (self.labels, self.pictures.files())

    def read(self, rows: IntArray) -> Images:
        return self.pictures.read(rows, self.fit)

    def named(self, rows: IntArray, corruption: str) -> IntArray:
        return noise_index([self.pictures.names[row] for row in rows])


@DATASETS.register("folder")
def folder(
    path: str,
    size: int = 224,
    resize: int | None = None,
    table: str = "imagenet",
    seed: int = 0,
    subset: str | None = None,
    class_index: str | None = None,
    num_classes: int | None = None,
) -> CorruptedFiles:
    """Your images, `<class>/<image>` in a folder or a zip, corrupted on demand."""
    pictures = chosen(Pictures.of(find("data set 'folder'", path)), subset)
    return CorruptedFiles(pictures, Fit(size, resize), *number_classes(pictures, class_index, num_classes), table, seed)


@DATASETS.register("tinyimagenet")
def tinyimagenet(
    path: str | None = None,
    size: int = 64,
    table: str = "imagenet",
    seed: int = 0,
    subset: str | None = None,
    class_index: str | None = None,
    num_classes: int | None = None,
) -> CorruptedFiles:
    """The 10,000 validation images of Tiny-ImageNet, 200 classes of 64 x 64 pixels, corrupted on demand."""
    found = find("data set 'tinyimagenet'", path, "tinyimagenet_val.zip", TINY, f"{TINY}.zip", "tinyimagenet_val")
    pictures = chosen(tiny_pictures(found), subset)
    return CorruptedFiles(pictures, Fit(size), *number_classes(pictures, class_index, num_classes), table, seed)
