"""Every corruption by its name, applied to many images a piece at a time."""

from collections.abc import Callable

import numpy as np

from gotta.data.corruptions import blur, digital, noise, spatter, weather
from gotta.data.corruptions.draws import Draws
from gotta.data.corruptions.severities import EXTRA, STANDARD, Parameters
from gotta.types import Images, IntArray

Corruption = Callable[[Images, Parameters, Draws], Images]

FAMILIES = (noise, blur, weather, digital, spatter)
_CORRUPTIONS: dict[str, Corruption] = {
    name: getattr(family, name) for family in FAMILIES for name in (*STANDARD, *EXTRA) if hasattr(family, name)
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
