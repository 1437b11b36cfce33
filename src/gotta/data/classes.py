"""Which number a class has, and which images of a data set are used: both by lists that people keep in files.

The rule of class numbers: folders in sorted order are classes 0, 1, 2, ... The 1000 wnids of ImageNet-1k in sorted
order are its class numbers, so a complete ImageNet needs no list. A data set with fewer of them has classes 0 to C - 1
unless `class_index` says which output of a network stands for which wnid.
"""

from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from gotta.data.archives import reading_error
from gotta.data.home import find
from gotta.data.readers.pictures import Pictures
from gotta.errors import GottaError
from gotta.json_yaml import read_json
from gotta.types import IntArray

IMAGENET1K = "imagenet1k"
MOST = 1_000_000  # classes
WNIDS = Path(__file__).parent / "assets" / "imagenet1k-wnids.txt"
SUBSETS = {"robustbench-5k": ("robustbench-5k.txt", "imagenet_test_image_ids.txt")}


def number_classes(pictures: Pictures, class_index: str | None, num_classes: int | None) -> tuple[IntArray, int]:
    """The labels as numbers of a network's outputs, and how many outputs there are."""
    classes = pictures.classes
    if class_index is None:
        number, default = np.arange(len(classes)), len(classes)
    else:
        index = read_index(class_index)
        missing = [name for name in classes if name not in index]
        if missing:
            raise GottaError(f"class_index '{class_index}' has no {', '.join(missing[:3])}. It must name every class.")
        number = np.array([index[name] for name in classes], np.int64)
        imagenet = max(number) < 1000 and set(classes) <= set(wnids())
        default = 1000 if imagenet else int(max(number)) + 1
    count = default if num_classes is None else num_classes
    if max(number) >= count:
        raise GottaError(f"num_classes={count}, but a class has number {max(number)}. Expected at least one more.")
    return number[pictures.labels].astype(np.int64), count


def wnids() -> list[str]:
    """The 1000 classes of ImageNet-1k by number."""
    return WNIDS.read_text("utf-8").split()


def read_index(class_index: str) -> dict[str, int]:
    """Class name to number: `imagenet1k`, or a JSON file."""
    if class_index == IMAGENET1K:
        return {name: number for number, name in enumerate(wnids())}
    path = find("class_index", class_index)
    expected = 'Expected a number of its own for each class, as {"n01440764": 0, "n01443537": 1}.'
    with reading_error(f"class_index '{path}' is not readable JSON", expected):
        index: Any = read_json(path, links=True)
    numbers = list(index.values()) if isinstance(index, dict) else []
    if not numbers or not all(type(n) is int and 0 <= n < MOST for n in numbers) or len(set(numbers)) < len(numbers):
        raise GottaError(f"class_index '{path}' does not number the classes. {expected}")
    return dict(index)


def chosen(pictures: Pictures, subset: str | None) -> Pictures:
    """The images that a list names, in its sequence; all of them without one."""
    if subset is None:
        return pictures
    path = find(f"subset '{subset}'", None if subset in SUBSETS else subset, *SUBSETS.get(subset, ()))
    with reading_error(f"the list of images '{path}' cannot be read", "Expected a line <class>/<image> for each."):
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
    wanted = ["/".join(PurePosixPath(line).parts[-2:]) for line in lines if line and not line.startswith("#")]
    row = {name: at for at, name in enumerate(pictures.names)}
    unlisted = [name for name in wanted if name not in row]
    if unlisted or not wanted:
        what = f"names {unlisted[0]} ({len(unlisted)} in all), which is not there" if unlisted else "is empty"
        raise GottaError(f"the list '{path}' {what}. Expected lines such as {pictures.names[0]}.")
    if len(set(wanted)) < len(wanted):
        raise GottaError(f"the list '{path}' names an image twice. Remove the repeated lines.")
    return pictures.only([row[name] for name in wanted])
