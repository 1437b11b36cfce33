"""What several corruptions share: rounding, padding, filters and resampling of a batch of images.

Everything here treats an image the same whatever else is in the batch, to the last bit: only element-wise arithmetic
and sums in a fixed order, or sums of integers.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from gotta.types import Images

Floats = NDArray[np.float32]
Values = NDArray[np.float32] | NDArray[np.uint8]
Fold = Callable[[NDArray[np.int64], int], NDArray[np.int64]]

# A sum that is an integer in exact arithmetic must not fall below it when the fraction is cut off.
SLACK = np.float32(1e-3)


def to_bytes(values: Floats) -> Images:
    """Clip grey levels to 0 .. 255 and cut off the fraction, as the published arrays are. Overwrites its argument."""
    values += SLACK
    np.clip(values, 0, 255, out=values)
    return values.astype(np.uint8)


def gaussian_weights(sigma: float) -> NDArray[np.float64]:
    """A normalised Gaussian window that ends four standard deviations from its centre."""
    radius = int(4 * sigma + 0.5) if sigma > 0 else 0
    if radius == 0:
        return np.ones(1)
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    return np.asarray(weights / weights.sum())


def pad(values: NDArray[np.generic], rows: int, columns: int, mode: str) -> Floats:
    """Extend axes 1 and 2 on both sides and make it float32; mode is one of NumPy's (edge, reflect, symmetric)."""
    width = [(0, 0), (rows, rows), (columns, columns)] + [(0, 0)] * (values.ndim - 3)
    padded: Floats = np.pad(values, width, mode=mode).astype(np.float32)  # type: ignore[call-overload]
    return padded


def blur(values: NDArray[np.generic], weights: NDArray[np.float64]) -> Floats:
    """Filter axes 1 and 2 with the same symmetric window of odd length."""
    radius = len(weights) // 2
    if radius == 0:
        return values.astype(np.float32)
    half = weights[radius:].astype(np.float32)
    return _blur_axis(_blur_axis(pad(values, radius, radius, "edge"), half, 1), half, 2)


def _blur_axis(padded: Floats, half: Floats, axis: int) -> Floats:
    """The windows of an axis, each moved by so many pixels, added up; the padding of the axis goes."""
    radius = len(half) - 1
    size = padded.shape[axis] - 2 * radius
    windows = [padded[(slice(None),) * axis + (slice(start, start + size),)] for start in range(2 * radius + 1)]
    out: Floats = windows[radius] * half[0]
    scratch = np.empty_like(out)
    for offset, weight in enumerate(half[1:], start=1):
        np.add(windows[radius - offset], windows[radius + offset], out=scratch)
        scratch *= weight
        out += scratch
    return out


def correlate(values: NDArray[np.generic], kernel: NDArray[np.float64], mode: str) -> Floats:
    """Correlate axes 1 and 2 with a small two-dimensional kernel of odd sides."""
    rows, columns = kernel.shape[0] // 2, kernel.shape[1] // 2
    height, width = values.shape[1:3]
    padded = pad(values, rows, columns, mode)
    out = np.zeros(values.shape, np.float32)
    scratch = np.empty_like(out)
    for row, column in np.argwhere(kernel):
        np.multiply(
            padded[:, row : row + height, column : column + width], np.float32(kernel[row, column]), out=scratch
        )
        out += scratch
    return out


@lru_cache(maxsize=512)
def zoom_taps(size: int, factor: float) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Crop the middle of a line, magnify it by linear interpolation, and keep the middle `size` of the result.

    For each place of the result: the position of the first of two neighbours, and the weights of both.
    """
    crop = int(np.ceil(size / factor))
    # The zoomed ramp says where each place is read, the zoomed ones whether it is inside.
    place, inside = (ndimage.zoom(line, factor, order=1) for line in (np.arange(float(crop)), np.ones(crop)))
    trim = (len(place) - size) // 2
    place, inside = place[trim : trim + size], inside[trim : trim + size]
    first = np.clip(np.floor(place), 0, crop - 2).astype(np.int64)
    far = place - first
    return first + (size - crop) // 2, (inside - far).astype(np.float32), far.astype(np.float32)


def zoom(values: Values, factor: float) -> Floats:
    """Magnify axes 1 and 2 about the centre."""
    return _zoom_axis(_zoom_axis(values, factor, 1), factor, 2)


def _zoom_axis(values: Values, factor: float, axis: int) -> Floats:
    first, near, far = zoom_taps(values.shape[axis], factor)
    shape = (-1,) + (1,) * (values.ndim - axis - 1)
    out: Floats = values.take(first, axis) * near.reshape(shape)
    out += values.take(first + 1, axis) * far.reshape(shape)
    return out


def sample(planes: Sequence[Floats], y: Floats, x: Floats, fold: Fold) -> list[Floats]:
    """Read each [N, H, W] plane at real coordinates [N, H, W] by linear interpolation; `fold` brings indices inside."""
    count, height, width = planes[0].shape
    top, left = np.floor(y), np.floor(x)
    down, right = y - top, x - left
    rows = [fold(top.astype(np.int64) + step, height) * width for step in (0, 1)]
    columns = [fold(left.astype(np.int64) + step, width) for step in (0, 1)]
    rows = [row + (np.arange(count) * (height * width))[:, None, None] for row in rows]
    corners = [
        (rows[0] + columns[0], (1 - down) * (1 - right)),
        (rows[0] + columns[1], (1 - down) * right),
        (rows[1] + columns[0], down * (1 - right)),
        (rows[1] + columns[1], down * right),
    ]
    return [_weigh(plane.ravel(), corners) for plane in planes]


def _weigh(plane: Floats, corners: list[tuple[NDArray[np.int64], Floats]]) -> Floats:
    out: Floats = plane.take(corners[0][0]) * corners[0][1]
    for index, weight in corners[1:]:
        out += plane.take(index) * weight
    return out


def fold_between_centres(index: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Mirror about the centre of the outermost pixel: cb|abcd|cb.

    >>> fold_between_centres(np.array([-2, -1, 0, 3, 4, 5]), 4).tolist()
    [2, 1, 0, 3, 2, 1]
    """
    index = np.abs(index) % max(2 * size - 2, 1)
    return np.minimum(index, 2 * size - 2 - index)


def fold_between_edges(index: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Mirror about the outer edge of the outermost pixel: ba|abcd|dc."""
    index = index % (2 * size)
    return np.minimum(index, 2 * size - 1 - index)
