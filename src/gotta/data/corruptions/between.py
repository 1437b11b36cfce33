"""Corruptions at severities between the published ones, and two of them on one image.

As in the generator of CCC (Press et al., 2023) parameters are linear between two severities, and severity 0 leaves
the image alone; photons go by their reciprocal. Numbers that count something are cut to whole ones.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from gotta.data.corruptions.apply import apply
from gotta.data.corruptions.inputs import check_images, check_index, check_seed, find_parameters
from gotta.data.corruptions.severities import SEVERITIES, Parameters
from gotta.errors import GottaError, unknown
from gotta.types import Images

TINY = 1e-3  # a deviation that blurs nothing, where 0 would divide
STEPS = 4  # severities are multiples of a quarter
NOTHING: dict[str, Parameters] = {  # parameters that leave an image as it is, where they differ from the first ones
    "gaussian_noise": (0.0,),
    "shot_noise": (1e6,),
    "impulse_noise": (0.0,),
    "defocus_blur": (0.0, TINY),
    "glass_blur": (TINY, 1, 0),
    "motion_blur": (0.0, TINY),
    "zoom_blur": (1.0, 0.01),
    "snow": (0.1, 0.2, 1, 1.0, 8, 3, 1.0),
    "frost": (1, 0.0, 0.2),
    "fog": (0.0, 3),
    "brightness": (0.0,),
    "contrast": (1.0,),
    "pixelate": (1.0,),
    "jpeg_compression": (85,),
}
BY_RECIPROCAL = ("shot_noise",)


def corrupt_between(
    images: Images, name: str, severity: float, table: str = "cifar", seed: int = 0, index: ArrayLike | None = None
) -> Images:
    """`corrupt` at a severity from 0 to 5 in quarters; whole ones give the same pixels as there."""
    quarter = check_severity(severity)
    if name not in NOTHING:
        raise unknown("corruption between severities", str(name), NOTHING)
    seed, images = check_seed(seed), check_images(images)
    rows = check_index(index, len(images))
    if quarter == 0:
        return images.copy()
    whole = quarter % STEPS == 0
    key = quarter // STEPS if whole else len(SEVERITIES) + quarter  # of its random numbers
    return apply(images, name, parameters_between(name, quarter / STEPS, table), seed, key, rows)


def corrupt_twice(
    images: Images,
    pair: Sequence[tuple[str, float]],
    table: str = "cifar",
    seed: int = 0,
    index: ArrayLike | None = None,
) -> Images:
    """One corruption after the other, each a name and a severity."""
    for name, severity in pair:
        images = corrupt_between(images, name, severity, table, seed, index)
    return images


def parameters_between(name: str, severity: float, table: str) -> Parameters:
    """The parameters of a severity, linear between the two published ones beside it."""
    lower, share = int(severity), severity - int(severity)
    below = np.array(find_parameters(name, lower, table) if lower else _nothing(name, table), np.float64)
    if not share:
        return tuple(find_parameters(name, lower, table)) if lower else tuple(below.tolist())
    above = np.array(find_parameters(name, lower + 1, table), np.float64)
    if name in BY_RECIPROCAL:
        below, above = 1 / below, 1 / above
    mixed = (1 - share) * below + share * above
    return tuple((1 / mixed if name in BY_RECIPROCAL else mixed).tolist())


def check_severity(severity: float) -> int:
    """A severity as a number of quarters."""
    number = isinstance(severity, int | float) and not isinstance(severity, bool)
    if not number or not 0 <= severity <= SEVERITIES[-1] or severity * STEPS != int(severity * STEPS):
        raise GottaError(f"a severity between must be 0, 0.25, 0.5, ... or 5 (got {severity!r}).")
    return int(severity * STEPS)


def _nothing(name: str, table: str) -> Parameters:
    """What keeps its value with the severity (the step of a zoom, the size of flakes) is that of severity 1."""
    first = find_parameters(name, 1, table)
    same = {"zoom_blur": (1,), "snow": (0, 1, 2, 4, 5), "frost": (2,), "fog": (1,)}.get(name, ())
    return tuple(first[at] if at in same else value for at, value in enumerate(NOTHING[name]))
