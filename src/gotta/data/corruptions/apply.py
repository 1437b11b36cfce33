"""Every corruption by its name, applied to many images a piece at a time."""

from collections.abc import Callable

import numpy as np

from gotta.data.corruptions import blur, digital, noise, spatter, weather
from gotta.data.corruptions.draws import Draws
from gotta.data.corruptions.severities import Parameters
from gotta.types import Images, IntArray

Corruption = Callable[[Images, Parameters, Draws], Images]

_CORRUPTIONS: dict[str, Corruption] = {
    "gaussian_noise": noise.gaussian_noise,
    "shot_noise": noise.shot_noise,
    "impulse_noise": noise.impulse_noise,
    "defocus_blur": blur.defocus_blur,
    "glass_blur": blur.glass_blur,
    "motion_blur": blur.motion_blur,
    "zoom_blur": blur.zoom_blur,
    "snow": weather.snow,
    "frost": weather.frost,
    "fog": weather.fog,
    "brightness": digital.brightness,
    "contrast": digital.contrast,
    "elastic_transform": digital.elastic_transform,
    "pixelate": digital.pixelate,
    "jpeg_compression": digital.jpeg_compression,
    "speckle_noise": noise.speckle_noise,
    "gaussian_blur": blur.gaussian_blur,
    "spatter": spatter.spatter,
    "saturate": digital.saturate,
}

_PIXELS_AT_ONCE = 2**16  # bounds the memory; larger pieces also fall out of the processor's cache


def apply(images: Images, name: str, parameters: Parameters, seed: int, key: int, rows: IntArray) -> Images:
    """The corruption with these parameters; an image's random numbers are those of seed, name, key and row."""
    piece = max(1, _PIXELS_AT_ONCE // (images.shape[1] * images.shape[2]))
    out = np.empty(images.shape, np.uint8)
    for start in range(0, len(images), piece):
        part = slice(start, start + piece)
        out[part] = _CORRUPTIONS[name](images[part], parameters, Draws(seed, name, key, rows[part]))
    return out
