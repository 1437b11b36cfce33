"""The images that come with gotta: 2,000 of CIFAR-10's test set, 200 per class, lossless, as one sheet of tiles."""

import json
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image

from gotta.types import Images, IntArray

SHEET = Path(__file__).parents[1] / "assets" / "cifar10-test2000.png"
COLUMNS = 50


@cache
def bundled() -> tuple[Images, IntArray, IntArray]:
    """Images [2000, 32, 32, 3], labels [2000] and their rows in CIFAR-10's test set [2000], in the test set's order."""
    with Image.open(SHEET) as sheet:
        tiles = np.asarray(sheet)
    rows = tiles.shape[0] // 32
    images = tiles.reshape(rows, 32, COLUMNS, 32, 3).swapaxes(1, 2).reshape(-1, 32, 32, 3)
    listed = json.loads(SHEET.with_suffix(".json").read_text("utf-8"))
    labels, index = np.array(listed["label"], np.int64), np.array(listed["index"], np.int64)
    for array in (images, labels, index):
        array.setflags(write=False)
    return images, labels, index
