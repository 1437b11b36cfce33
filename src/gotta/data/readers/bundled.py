"""The images that come with gotta, lossless, in sheets: 2,000 of CIFAR-10's test set, 500 of its training set."""

import json
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from gotta.types import Images, IntArray

ASSETS = Path(__file__).parents[1] / "assets"
SHEETS = {"test": ASSETS / "cifar10-test2000.png", "train": ASSETS / "cifar10-train500.png"}
COLUMNS = 50


@cache
def bundled(split: str = "test") -> tuple[Images, IntArray, IntArray]:
    """Images [N, 32, 32, 3], labels [N] and their rows in that split of CIFAR-10 [N], in its order.

    Of `test` 200 per class, for streams; of `train` the first 50 per class, for methods that ask for clean samples.

    >>> from gotta.data import bundled
    >>> images, labels, rows = bundled()
    >>> images.shape
    (2000, 32, 32, 3)
    """
    with Image.open(SHEETS[split]) as sheet:
        tiles = np.asarray(sheet)
    rows = tiles.shape[0] // 32
    images = tiles.reshape(rows, 32, COLUMNS, 32, 3).swapaxes(1, 2).reshape(-1, 32, 32, 3)
    listed = json.loads(SHEETS[split].with_suffix(".json").read_text("utf-8"))
    labels, index = np.array(listed["label"], np.int64), np.array(listed["index"], np.int64)
    for array in (images, labels, index):
        array.setflags(write=False)
    return images, labels, index
