"""What a corruption may be asked for: every mistake becomes one clear error before anything is done."""

from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from gotta.data.corruptions.severities import SEVERITIES, TABLES, Parameters
from gotta.errors import GottaError, check_known
from gotta.limits import Within, require
from gotta.types import Images, IntArray

_SMALLEST_SIDE = 8
EXPECTED = "Expected a NumPy array of uint8 values in 0 .. 255, shape [N, H, W, 3]"


def find_parameters(name: str, severity: float, table: str) -> Parameters:
    check_known("table of severities", table, TABLES)
    check_known("corruption", name, TABLES[table])
    if isinstance(severity, bool) or severity not in SEVERITIES:
        raise GottaError(f"severity must be 1, 2, 3, 4 or 5, got {severity!r}.")
    return TABLES[table][name][int(severity) - 1]


def check_images(images: Images) -> Images:
    if not isinstance(images, np.ndarray):
        raise GottaError(f"images are a {type(images).__name__}. {EXPECTED}.")
    if images.dtype != np.uint8:
        raise GottaError(f"images have dtype {images.dtype}. {EXPECTED}; values in 0 .. 1 must be multiplied by 255.")
    if images.ndim != 4 or images.shape[3] != 3 or not len(images) or min(images.shape[1:3]) < _SMALLEST_SIDE:
        least = f"with N at least 1, H and W at least {_SMALLEST_SIDE}"
        raise GottaError(f"images have shape {list(images.shape)}. {EXPECTED}, {least}.")
    return images


def check_index(index: ArrayLike | None, count: int) -> IntArray:
    rows = np.arange(count) if index is None else np.asarray(index)
    if rows.shape != (count,):
        raise GottaError(f"index has shape {list(rows.shape)}. Expected one number for each of the {count} images.")
    if not np.issubdtype(rows.dtype, np.integer) or (rows < 0).any():
        raise GottaError("index must hold whole numbers from 0 up: the rows of the images in their data set.")
    return rows.astype(np.int64)


def check_seed(seed: int) -> int:
    require("seed", seed, Annotated[int, Within(0)])
    return int(seed)
