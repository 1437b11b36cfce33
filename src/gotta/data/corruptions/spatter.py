"""Drops of water or mud on the lens."""

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from gotta.data.corruptions.draws import Draws
from gotta.data.corruptions.pixels import Floats, blur, correlate, gaussian_weights, to_bytes
from gotta.data.corruptions.severities import Parameters
from gotta.types import Images

_WATER = np.array([175, 238, 238], np.float32)
_MUD = np.array([63, 42, 20], np.float32)
_BOX = np.full((3, 3), 1 / 9)
_EMBOSS = np.array([[-2.0, -1, 0], [-1, 1, 1], [0, 1, 2]])
_FAR = 20.0
_WEAK_EDGE, _STRONG_EDGE = 50, 150


def spatter(images: Images, parameters: Parameters, draws: Draws) -> Images:
    mean, sd, sigma, threshold, strength, mud = parameters
    noise = draws.normal(*images.shape[1:3]) * np.float32(sd) + np.float32(mean)
    liquid = blur(noise, gaussian_weights(sigma))
    liquid[liquid < threshold] = 0
    return _mud(images, liquid > threshold, strength) if mud else _water(images, liquid, strength)


def _mud(images: Images, wet: NDArray[np.bool_], sigma: float) -> Images:
    cover = blur(wet, gaussian_weights(sigma))
    cover[cover < 0.8] = 0
    return to_bytes(images * (1 - cover)[..., None] + _MUD * cover[..., None])


def _water(images: Images, liquid: Floats, strength: float) -> Images:
    drops = (np.minimum(liquid, 1) * 255).astype(np.uint8)
    near = correlate(_distance_to(_edges(drops)), _BOX, "reflect")
    relief = np.clip(np.rint(correlate(_equalise(to_bytes(near)), _EMBOSS, "reflect")), 0, 255)
    relief = np.rint(correlate(relief, _BOX, "reflect"))
    shine = drops * relief
    shine *= np.float32(strength) / np.maximum(shine.max((1, 2), keepdims=True), np.float32(1e-6))
    return to_bytes(images + shine[..., None] * _WATER)


def _edges(grey: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Canny's edges [N, H, W] from Sobel gradients in the sum norm.

    Ridges above the weak threshold that are connected to one above the strong.
    """
    height, width = grey.shape[1:]
    across, along = np.array([-1.0, 0, 1]), np.array([1.0, 2, 1])
    right = correlate(grey, np.outer(along, across), "edge")
    down = correlate(grey, np.outer(across, along), "edge")
    size = np.abs(right) + np.abs(down)
    ring = np.pad(size, ((0, 0), (1, 1), (1, 1)))

    def beside(dy: int, dx: int) -> Floats:
        return np.asarray(ring[:, 1 + dy : 1 + dy + height, 1 + dx : 1 + dx + width])

    flat = np.abs(down) < np.abs(right) * np.tan(np.pi / 8)
    steep = np.abs(down) > np.abs(right) * np.tan(3 * np.pi / 8)
    falling = (right < 0) != (down < 0)
    ridge = np.select(
        [flat, steep, falling],
        [
            (size > beside(0, -1)) & (size >= beside(0, 1)),
            (size > beside(-1, 0)) & (size >= beside(1, 0)),
            (size > beside(-1, 1)) & (size > beside(1, -1)),
        ],
        (size > beside(-1, -1)) & (size > beside(1, 1)),
    )
    ridge &= size > _WEAK_EDGE
    touching = np.zeros((3, 3, 3), bool)
    touching[1] = True
    groups, count = ndimage.label(ridge, touching)
    strong = np.zeros(count + 1, bool)
    strong[groups[size > _STRONG_EDGE]] = True
    strong[0] = False
    return np.asarray(strong[groups])


_STEPS = [(dy, dx) for dy in range(-2, 3) for dx in range(-2, 3) if dy * dx % 4 or abs(dy) + abs(dx) == 1]
_LENGTH = {1: 1.0, 2: 1.4, 3: 2.1969}


def _distance_to(edges: NDArray[np.bool_]) -> Floats:
    """How far each pixel is from the nearest edge, at most 20, in king's and knight's moves of 1, 1.4 and 2.1969."""
    height, width = edges.shape[1:]
    distance = np.where(edges, 0, _FAR).astype(np.float32)
    while True:
        ring = np.pad(distance, ((0, 0), (2, 2), (2, 2)), constant_values=_FAR)
        nearer = distance.copy()
        for dy, dx in _STEPS:
            length = np.float32(_LENGTH[abs(dy) + abs(dx)])
            np.minimum(nearer, ring[:, 2 + dy : 2 + dy + height, 2 + dx : 2 + dx + width] + length, out=nearer)
        if np.array_equal(nearer, distance):
            return distance
        distance = nearer


def _equalise(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Spread the grey levels of each image evenly; the lowest becomes 0, and an image of one level stays as it is."""
    count, pixels = len(grey), grey[0].size
    keys = grey.astype(np.int64) + 256 * np.arange(count)[:, None, None]
    histogram = np.bincount(keys.ravel(), minlength=256 * count).reshape(count, 256)
    lowest = histogram[np.arange(count), (histogram > 0).argmax(1)][:, None]
    levels = (histogram.cumsum(1) - lowest) * (255.0 / np.maximum(pixels - lowest, 1))
    levels = np.where(lowest == pixels, np.arange(256), np.rint(levels.clip(0)))
    return np.asarray(levels.astype(np.uint8).ravel()[keys])
