"""Corruptions that spread each pixel over its neighbours."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from gotta.data.corruptions.draws import Draws
from gotta.data.corruptions.pixels import SLACK, Floats, blur, correlate, gaussian_weights, to_bytes, zoom, zoom_taps
from gotta.data.corruptions.severities import Parameters
from gotta.types import Images

_MANY_TAPS = 60  # from here on a Fourier transform is faster than adding shifted copies
_SMALL_IMAGE = 1600  # pixels up to which all zooms together are one dense matrix


def gaussian_blur(images: Images, parameters: Parameters, draws: Draws) -> Images:
    return to_bytes(blur(images, gaussian_weights(parameters[0])))


def defocus_blur(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Correlate with a disk."""
    kernel = disk(*parameters)
    if np.count_nonzero(kernel) < _MANY_TAPS:
        return to_bytes(correlate(images, kernel, "reflect"))
    return np.concatenate([to_bytes(_correlate_large(image, kernel))[None] for image in images])


@lru_cache(maxsize=16)
def disk(radius: float, rim: float) -> NDArray[np.float64]:
    """A disk on a grid of at least 17 x 17, its rim softened by a Gaussian of 3 x 3 (5 x 5 for a large disk) taps."""
    reach, soft = (8, 1) if radius <= 8 else (int(radius), 2)
    line = np.arange(-reach, reach + 1)
    inside = (line[:, None] ** 2 + line[None, :] ** 2 <= radius**2).astype(np.float64)
    window = np.exp(-0.5 * (np.arange(-soft, soft + 1) / rim) ** 2)
    smooth = correlate((inside / inside.sum())[None], np.outer(window, window) / window.sum() ** 2, "reflect")[0]
    keep = np.flatnonzero(smooth.any(0))
    return np.asarray(smooth[keep[0] : keep[-1] + 1, keep[0] : keep[-1] + 1], np.float64)


def _correlate_large(image: NDArray[np.uint8], kernel: NDArray[np.float64]) -> Floats:
    height, width, _ = image.shape
    reach = len(kernel) // 2
    padded = np.pad(image.astype(np.float64), ((reach, reach), (reach, reach), (0, 0)), mode="reflect")
    shape = [fft.next_fast_len(side, real=True) for side in padded.shape[:2]]
    spectrum = fft.rfft2(padded.transpose(2, 0, 1), shape)
    spectrum *= np.conj(fft.rfft2(kernel, shape))
    out = fft.irfft2(spectrum, shape)[:, :height, :width]
    return np.ascontiguousarray(out.transpose(1, 2, 0), dtype=np.float32)


def glass_blur(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Blur, let every pixel take over a near one, and blur again."""
    sigma, reach, rounds = parameters[0], int(parameters[1]), int(parameters[2])
    count, height, width, _ = images.shape
    weights = gaussian_weights(sigma)
    pixels = to_bytes(blur(images, weights)).reshape(-1, 3)
    for _ in range(rounds):
        offsets = draws.below(2 * reach, 2, height, width) - reach
        pixels = pixels.take(_trace_sources(offsets[:, 0], offsets[:, 1], reach), axis=0)
    return to_bytes(blur(pixels.reshape(count, height, width, 3), weights))


def _trace_sources(down: NDArray[np.int64], right: NDArray[np.int64], reach: int) -> NDArray[np.int64]:
    """Where each pixel of the flattened batch comes from.

    The published loop means to swap pixels but, because it swaps views, copies: from the bottom right to the top left
    each pixel takes the present value of the one at its offset. A pixel later in raster order has already been
    replaced, so its own source is followed; halving the chains makes that a few steps instead of a loop over pixels.
    """
    count, height, width = down.shape
    inner = np.zeros((height, width), bool)
    inner[reach + 1 : height - reach + 1, reach + 1 : width - reach + 1] = True
    here = np.arange(count * height * width).reshape(count, height, width)
    source = np.where(inner, here + down * width + right, here).ravel()
    moving = np.broadcast_to(inner, here.shape).ravel()
    pending = np.flatnonzero((source > here.ravel()) & moving[source])
    replaced = np.zeros(source.size, bool)
    replaced[pending] = True
    while pending.size:
        via = source[pending]
        source[pending], replaced[pending] = source[via], replaced[via]
        pending = pending[replaced[pending]]
    return source


def motion_blur(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Drag the image in a direction within 45 degrees of horizontal."""
    angle = draws.uniform(1)[:, 0] * 90 - 45
    return streak(images, parameters[0], parameters[1], angle)


def streak(values: NDArray[np.uint8], radius: float, sigma: float, angle: Floats) -> NDArray[np.uint8]:
    """A one-sided Gaussian along one direction per image, as ImageMagick's motion blur does it.

    Each tap reads the pixel nearest to its place on the line; beyond the border the nearest pixel is repeated; the
    fraction is cut off.
    """
    length = 2 * int(np.ceil(radius)) + 1
    weights = np.exp(-0.5 * (np.arange(length) / sigma) ** 2)
    weights = (weights / weights.sum())[weights > 1e-7 * weights.sum()].astype(np.float32)
    steps = np.arange(len(weights))
    turn = np.deg2rad(angle.astype(np.float64))[:, None]
    right = np.ceil(steps * np.cos(turn) - 0.5).astype(int)
    down = np.ceil(steps * np.sin(turn) - 0.5).astype(int)
    return np.stack([_streak_one(*each, weights) for each in zip(values, down, right, strict=True)])


def _streak_one(
    image: NDArray[np.uint8], down: NDArray[np.int64], right: NDArray[np.int64], weights: Floats
) -> NDArray[np.uint8]:
    height, width = image.shape[:2]
    depth = image[0, 0].size
    top, left = -min(down.min(), 0), -min(right.min(), 0)
    rows = np.clip(np.arange(-top, height + max(down.max(), 0)), 0, height - 1)
    columns = np.clip(np.arange(-left, width + max(right.max(), 0)), 0, width - 1)
    padded = image.take(rows, axis=0).take(columns, axis=1).astype(np.float32).reshape(len(rows), -1)
    out = np.full((height, width * depth), SLACK, np.float32)
    scratch = np.empty_like(out)
    for y, x, weight in zip((down + top).tolist(), ((right + left) * depth).tolist(), weights, strict=True):
        np.multiply(padded[y : y + height, x : x + width * depth], weight, out=scratch)
        out += scratch
    return out.astype(np.uint8).reshape(image.shape)


def zoom_blur(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """The mean of the image and of magnified copies of it."""
    stop, step = parameters
    height, width = images.shape[1:3]
    factors = tuple(np.arange(1, stop, step).tolist())  # rounding lets 1.06 and 1.11 in, as published
    if height * width <= _SMALL_IMAGE:
        return _zoom_small(images, _zoom_operator(height, width, factors))
    total = images.astype(np.float32)
    for factor in factors:
        total += zoom(images, factor)
    total /= len(factors) + 1
    return to_bytes(total)


_UNIT = 2**16  # weights are multiples of 1 / 65536, so that every sum of weight times byte is an exact float32


@lru_cache(maxsize=8)
def _zoom_operator(height: int, width: int, factors: tuple[float, ...]) -> Floats:
    """[H * W in, H * W out]: all zooms at once, in units of 1 / 65536."""
    total, rows = np.eye(height * width), np.arange(height * width)
    for factor in factors:
        (top, *down), (left, *right) = zoom_taps(height, factor), zoom_taps(width, factor)
        for y, x in np.ndindex(2, 2):
            places = (top + y)[:, None] * width + (left + x)
            total[rows, places.ravel()] += np.outer(down[y], right[x]).ravel()
    total /= len(factors) + 1
    units = np.round(total * _UNIT)
    units[rows, units.argmax(1)] += np.round(total.sum(1) * _UNIT) - units.sum(1)
    return np.ascontiguousarray(units.T, dtype=np.float32)


def _zoom_small(images: Images, operator: Floats) -> Images:
    count, height, width, depth = images.shape
    planes = images.transpose(0, 3, 1, 2).reshape(count * depth, height * width).astype(np.float32)
    out = planes @ operator
    out /= _UNIT
    return out.astype(np.uint8).reshape(count, depth, height, width).transpose(0, 2, 3, 1)
