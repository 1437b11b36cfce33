"""Brightness, contrast and colour; warping; the marks of small and of compressed images."""

from functools import lru_cache
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from gotta.data.corruptions.draws import Draws
from gotta.data.corruptions.pixels import (
    Floats,
    fold_between_centres,
    fold_between_edges,
    sample,
    to_bytes,
)
from gotta.data.corruptions.severities import Parameters
from gotta.types import Images


def brightness(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Raise the value of HSV: hue and saturation stay when all channels grow by the same factor."""
    value = images.max(3)
    levels = np.arange(256, dtype=np.float32)
    raised = np.minimum(levels + np.float32(255 * parameters[0]), 255)
    factor = raised / np.maximum(levels, 1)
    out = images * factor.take(value)[..., None]
    out[value == 0] = raised[0]  # black has no hue to keep and becomes grey
    return to_bytes(out)


def saturate(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Scale and shift the saturation of HSV: the distance of each channel to the largest one."""
    factor, shift = parameters
    value = images.max(3)
    spread = (value - images.min(3)).astype(np.float32)
    bright = np.maximum(value, 1).astype(np.float32)
    wanted = np.clip(spread / bright * np.float32(factor) + np.float32(shift), 0, 1) * bright
    ratio = wanted / np.maximum(spread, 1)
    out = value[..., None] - (value[..., None] - images) * ratio[..., None]
    grey = (spread == 0) & (value > 0)  # a grey pixel has hue 0, so what saturates it is red
    out[grey, 1:] = (value[grey] - wanted[grey])[:, None]
    return to_bytes(out)


def contrast(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Pull every channel towards its own mean."""
    share = np.float32(parameters[0])
    pixels = images.shape[1] * images.shape[2]
    mean = images.sum((1, 2), dtype=np.int64, keepdims=True) / pixels
    out = images * share
    out += (mean * (1 - parameters[0])).astype(np.float32)
    return to_bytes(out)


def pixelate(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Shrink and enlarge with box filters."""
    height, width = images.shape[1:3]
    small = (max(int(width * parameters[0]), 1), max(int(height * parameters[0]), 1))
    coarse = (Image.fromarray(image).resize(small, Image.Resampling.BOX) for image in images)
    return np.stack([np.asarray(one.resize((width, height), Image.Resampling.BOX)) for one in coarse])


def jpeg_compression(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Through JPEG and back."""
    out = np.empty_like(images)
    for image, result in zip(images, out, strict=True):
        file = BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=int(parameters[0]))
        with Image.open(file) as read:
            result[:] = read
    return out


def elastic_transform(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Move three corners of a square, which warps the image affinely, then add smooth random waves."""
    height, sigma, reach = parameters
    shape = images.shape[1:3]
    planes = [images[..., channel].astype(np.float32) for channel in range(3)]
    planes = sample(planes, *_affine_coordinates(shape, reach, draws), fold_between_centres)
    if height > 0:
        noise = draws.uniform(2, *shape) * 2 - 1
        # In double precision, so that how a matrix product is rounded cannot change a grey level.
        waves = height * (_smoother(shape[0], sigma) @ noise.astype(np.float64) @ _smoother(shape[1], sigma).T)
        y, x = np.indices(shape)
        down, right = (y + waves[:, 1]).astype(np.float32), (x + waves[:, 0]).astype(np.float32)
        planes = sample(planes, down, right, fold_between_edges)
    return to_bytes(np.stack(planes, axis=-1))


def _affine_coordinates(shape: tuple[int, ...], reach: float, draws: Draws) -> tuple[Floats, Floats]:
    """For each target pixel of each image the (y, x) it is read from."""
    centre, side = np.array(shape) // 2, min(shape) // 3
    corners = np.array([centre + side, [centre[0] + side, centre[1] - side], centre - side], dtype=np.float64)
    moved = corners + reach * (2.0 * draws.uniform(3, 2) - 1)
    a, b, c = _plane(moved, corners)
    y, x = np.indices(shape)
    column, row = (a[:, i, None, None] * x + b[:, i, None, None] * y + c[:, i, None, None] for i in (0, 1))
    limit = 2.0**20  # corners that almost fall on a line send pixels arbitrarily far
    return (np.clip(row, -limit, limit).astype(np.float32), np.clip(column, -limit, limit).astype(np.float32))


def _plane(moved: NDArray[np.float64], corners: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """a, b, c [N, 2] with a x + b y + c = corner at each moved corner (x, y)."""
    (x0, y0), (x1, y1), (x2, y2) = (moved[:, i].T for i in range(3))
    determinant = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    determinant = np.where(np.abs(determinant) < 1e-9, 1e-9, determinant)[:, None]
    first, second = corners[1] - corners[0], corners[2] - corners[0]
    a = (first * (y2 - y0)[:, None] - second * (y1 - y0)[:, None]) / determinant
    b = (second * (x1 - x0)[:, None] - first * (x2 - x0)[:, None]) / determinant
    return a, b, corners[0] - a * x0[:, None] - b * y0[:, None]


@lru_cache(maxsize=16)
def _smoother(size: int, sigma: float) -> NDArray[np.float64]:
    """[size, size]: a Gaussian filter that mirrors the border and ends at three standard deviations."""
    return np.asarray(ndimage.gaussian_filter1d(np.eye(size), sigma, axis=0, mode="reflect", truncate=3))
