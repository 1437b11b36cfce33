"""Points of many dimensions on a plane."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def principal_plane(points: Floats) -> tuple[Floats, Floats]:
    """The first two principal components `[N, 2]` of `points[N, D]`, and the share of the variance that each has.

    Which side of a component is positive is left to chance: a direction and its opposite are equally principal.
    """
    centred = points - points.mean(0)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    places = centred @ directions[:2].T
    squares = np.square(sizes)
    shares = squares[:2] / max(squares.sum(), np.finfo(np.float64).tiny)
    missing = 2 - places.shape[1]  # of points on a line
    return np.pad(places, ((0, 0), (0, missing))), np.pad(shares, (0, missing))
