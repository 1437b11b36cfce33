"""Snow, frost and fog."""

import numpy as np
from numpy.typing import NDArray

from gotta.data.corruptions.blur import streak
from gotta.data.corruptions.draws import Draws
from gotta.data.corruptions.pixels import Floats, to_bytes, zoom
from gotta.data.corruptions.severities import Parameters
from gotta.data.corruptions.textures import frost_textures
from gotta.types import Images

_GREY = np.array([0.299, 0.587, 0.114], np.float32)


def snow(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Whiten the image and add flakes, streaked by the wind, twice: as they are and turned by 180 degrees."""
    mean, sd, factor, threshold, radius, sigma, share = parameters
    height, width = images.shape[1:3]
    flakes = zoom(draws.normal(height, width) * np.float32(sd) + np.float32(mean), factor)
    flakes[flakes < threshold] = 0
    angle = draws.uniform(1)[:, 0] * 90 - 135
    layer = streak((np.clip(flakes, 0, 1) * 255).astype(np.uint8), radius, sigma, angle)
    grey = images[..., 0] * _GREY[0] + images[..., 1] * _GREY[1] + images[..., 2] * _GREY[2]
    out = np.maximum(images, (grey * np.float32(1.5) + np.float32(127.5))[..., None])
    out *= np.float32(1 - share)
    out += images * np.float32(share)
    out += (layer.astype(np.float32) + layer[:, ::-1, ::-1])[..., None]
    return to_bytes(out)


def frost(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Add a random cut-out of one of five textures of ice."""
    share, ice, scale = parameters
    height, width = images.shape[1:3]
    textures = frost_textures(scale, height, width)
    place = draws.uniform(3)
    cover = np.empty_like(images)
    for result, (which, down, right) in zip(cover, place, strict=True):
        texture = textures[int(which * len(textures))]
        top, left = int(down * (len(texture) - height)), int(right * (texture.shape[1] - width))
        result[:] = texture[top : top + height, left : left + width]
    out = images * np.float32(share)
    out += cover * np.float32(ice)
    return to_bytes(out)


def fog(images: Images, parameters: Parameters, draws: Draws) -> Images:
    """Add a cloud and scale so that the brightest value of each image is kept."""
    strength, decay = parameters
    height, width = images.shape[1:3]
    cloud = plasma(1 << (max(height, width) - 1).bit_length(), decay, draws)[:, :height, :width, None]
    brightest = images.max((1, 2, 3), keepdims=True).astype(np.float32)
    out = images + cloud * np.float32(255 * strength)
    out *= brightest / (brightest + np.float32(255 * strength))
    return to_bytes(out)


def plasma(side: int, decay: float, draws: Draws) -> Floats:
    """[N, side, side] in 0 .. 1: a height map by the diamond-square algorithm on a torus; side is a power of two.

    From one level to the next the random part shrinks by decay twice over, because the published code multiplies a
    uniform number of that range by that range.
    """
    heights = (draws.uniform(side, side) * 2 - 1).astype(np.float32)
    heights[:, 0, 0] = 0
    step, range_ = side, 1.0
    while step >= 2:
        half = step // 2
        corners, middles = heights[:, ::step, ::step], heights[:, half::step, half::step]
        tops, sides = heights[:, ::step, half::step], heights[:, half::step, ::step]
        _settle(middles, _ring(_ring(corners, 1, -1), 2, -1), range_)
        _settle(tops, _ring(middles, 1, 1) + _ring(corners, 2, -1), range_)
        _settle(sides, _ring(middles, 2, 1) + _ring(corners, 1, -1), range_)
        step, range_ = half, range_ / decay**2
    heights -= heights.min((1, 2), keepdims=True)
    heights /= np.maximum(heights.max((1, 2), keepdims=True), np.float32(1e-12))
    return heights


def _ring(values: Floats, axis: int, shift: int) -> Floats:
    """Each value plus its neighbour, around the torus."""
    return values + np.roll(values, shift, axis)


def _settle(cells: NDArray[np.float32], around: Floats, range_: float) -> None:
    """Turn the random numbers waiting in these cells into the mean of their four neighbours plus a random part."""
    cells *= np.float32(range_)
    cells += around * np.float32(0.25)
