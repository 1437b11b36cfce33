"""Corruptions at severities between the published ones.

As in the generator of CCC (Press et al., 2023) parameters are linear between two severities, and severity 0 leaves
the image alone; photons go by their reciprocal. Numbers that count something are cut to whole ones.
"""

import numpy as np

from gotta.data.corruptions.inputs import find_parameters
from gotta.data.corruptions.severities import SEVERITIES, Parameters
from gotta.errors import GottaError

TINY = 1e-3  # a deviation that blurs nothing, where 0 would divide
STEPS = 4  # severities are multiples of a quarter
# Parameters that leave an image as it is. None keeps its value with the severity (the step of a zoom, the size of
# flakes): it is that of severity 1.
NOTHING: dict[str, tuple[float | None, ...]] = {
    "gaussian_noise": (0.0,),
    "shot_noise": (1e6,),
    "impulse_noise": (0.0,),
    "defocus_blur": (0.0, TINY),
    "glass_blur": (TINY, 1, 0),
    "motion_blur": (0.0, TINY),
    "zoom_blur": (1.0, None),
    "snow": (None, None, None, 1.0, None, None, 1.0),
    "frost": (1, 0.0, None),
    "fog": (0.0, None),
    "brightness": (0.0,),
    "contrast": (1.0,),
    "pixelate": (1.0,),
    "jpeg_compression": (85,),
}
BY_RECIPROCAL = ("shot_noise",)


def find_at(name: str, severity: float, table: str) -> tuple[Parameters, int]:
    """The parameters of a severity, and the number that its random draws go by."""
    if name not in NOTHING or (severity in SEVERITIES and severity is not True):
        return find_parameters(name, severity, table), int(severity)
    quarter = check_severity(severity)
    return parameters_between(name, severity, table), len(SEVERITIES) + quarter


def parameters_between(name: str, severity: float, table: str) -> Parameters:
    """The parameters of a severity, linear between the two published ones beside it."""
    lower = min(int(severity), SEVERITIES[-1] - 1)
    share, above = severity - lower, np.array(find_parameters(name, lower + 1, table), np.float64)
    nothing = [usual if value is None else value for value, usual in zip(NOTHING[name], above, strict=True)]
    below = np.array(find_parameters(name, lower, table) if lower else nothing, np.float64)
    if name in BY_RECIPROCAL:
        return tuple((1 / ((1 - share) * (1 / below) + share * (1 / above))).tolist())
    return tuple(((1 - share) * below + share * above).tolist())


def check_severity(severity: float) -> int:
    """A severity as a number of quarters."""
    number = isinstance(severity, int | float) and not isinstance(severity, bool)
    if not number or not 0 <= severity <= SEVERITIES[-1] or severity * STEPS != int(severity * STEPS):
        raise GottaError(f"severity must be 1, 2, 3, 4 or 5, or a quarter between 0 and 5 (got {severity!r}).")
    return int(severity * STEPS)
