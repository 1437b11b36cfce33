"""Textures of ice for the frost corruption, made by arithmetic instead of photographs.

The published photographs may not be handed on. These five are sums of periodic ridged noise; levels, contrast,
roughness and patchiness are chosen so that, on average, the statistics recorded of the published generator and the
error of a network under it are met. They are periodic, so that a cut-out of any size exists, and built from
element-wise arithmetic, so that they are the same on every machine.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gotta.data.corruptions.pixels import Floats
from gotta.seeds import generator

_HEIGHT, _WIDTH = 750, 1000
# Pixels between two random numbers, and the standard deviation in grey levels of what they make.
_SHAPES = ((250, 26), (125, 24), (50, 18), (25, 17))
_CRYSTALS = ((10, 15), (5, 14), (2, 14.5))
_PATCH, _PATCHINESS = 125, 0.5  # crystals are stronger in some places than in others
_LEVELS = (95, 127, 163, 189, 207)  # mean grey level of each texture
_TINT = ((0.86, 0.0), (1.0, 0.0), (0.85, 35.0))  # slope and level of red, green and blue: shadows of ice are blue


@lru_cache(maxsize=1)
def full_textures() -> tuple[NDArray[np.uint8], ...]:
    """Five textures [750, 1000, 3]."""
    return tuple(_texture(level, number) for number, level in enumerate(_LEVELS))


@lru_cache(maxsize=8)
def frost_textures(scale: float, height: int, width: int) -> tuple[NDArray[np.uint8], ...]:
    """The textures at a scale, with room for a cut-out of this size at more than one place.

    Every fifth pixel is taken for a scale of one fifth, as linear interpolation without smoothing does.
    """
    every = round(1 / scale)
    shrunk = [np.ascontiguousarray(one[every // 2 :: every, every // 2 :: every]) for one in full_textures()]
    copies = [(2 + height // one.shape[0], 2 + width // one.shape[1]) for one in shrunk]
    return tuple(np.tile(one, (*copy, 1)) if max(copy) > 2 else one for one, copy in zip(shrunk, copies, strict=True))


def _texture(level: float, number: int) -> NDArray[np.uint8]:
    rng = generator(number, "frost")
    shapes, crystals = (sum(np.float32(sd) * _ridges(rng, cell) for cell, sd in part) for part in (_SHAPES, _CRYSTALS))
    patches = np.maximum(1 + np.float32(_PATCHINESS) * _ridges(rng, _PATCH), 0)
    grey = np.float32(level) + shapes + crystals * patches
    channels = [np.clip(grey * np.float32(slope) + np.float32(base), 0, 255) for slope, base in _TINT]
    return np.stack(channels, -1).astype(np.uint8)


def _ridges(rng: np.random.Generator, cell: int) -> Floats:
    """Smooth noise folded at its middle, which leaves bright ridges; mean 0 and standard deviation about 1."""
    lattice = rng.random((_HEIGHT // cell, _WIDTH // cell), dtype=np.float32)
    smooth = _stretch(_stretch(lattice, cell, 0), cell, 1)
    ridges = 1 - np.abs(2 * smooth - 1)
    ridges -= ridges.mean(dtype=np.float64).astype(np.float32)
    ridges /= ridges.std(dtype=np.float64).astype(np.float32)
    return ridges.astype(np.float32)


def _stretch(values: Floats, cell: int, axis: int) -> Floats:
    """Repeat each value `cell` times and ease over to the next, around the torus."""
    part = (np.arange(cell, dtype=np.float32) + np.float32(0.5)) / cell
    ease = np.tile(part * part * (3 - 2 * part), values.shape[axis])
    ease = ease[:, None] if axis == 0 else ease[None, :]
    here = np.repeat(values, cell, axis)
    following = np.repeat(np.roll(values, -1, axis), cell, axis)
    return np.asarray(here + (following - here) * ease, np.float32)
