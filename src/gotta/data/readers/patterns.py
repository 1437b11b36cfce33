"""Images that show no object: patterns that are computed, and photographs cut into tiles that are shuffled.

They are foreign to a network of any classes, need no file and no licence, and are the same on every machine.
"""

from typing import Annotated

import numpy as np

from gotta.data.corruptions.draws import Draws
from gotta.data.corruptions.weather import plasma
from gotta.errors import GottaError
from gotta.limits import Count, Within, require
from gotta.types import Floats, Images, IntArray

KINDS = ("clouds", "stripes", "checks", "rings", "noise")
TILES = 4  # across an image


def make_patterns(number: int = 500, side: int = 32, seed: int = 0) -> tuple[Images, IntArray]:
    """Images [number, side, side, 3] and their kinds, in turn: each a field of values between two random colours."""
    require("number", number, Count)
    require("side", side, Annotated[int, Within(8)])
    draws = Draws(seed, "patterns", 0, np.arange(number))
    kind = np.arange(number) % len(KINDS)
    cloud = plasma(1 << (side - 1).bit_length(), 1.6, draws)[:, :side, :side].astype(np.float64)
    grain, places, colours = draws.uniform(side, side), draws.uniform(6).astype(np.float64), draws.uniform(2, 3)
    y, x = np.indices((side, side)) / side
    angle, waves = 2 * np.pi * places[:, 0], 2 + 6 * places[:, 1]
    along = x * np.cos(angle)[:, None, None] + y * np.sin(angle)[:, None, None]
    across = y * np.cos(angle)[:, None, None] - x * np.sin(angle)[:, None, None]
    wave, cross = (np.sin(2 * np.pi * waves[:, None, None] * axis) for axis in (along, across))
    distance = np.hypot(x - places[:, 2, None, None], y - places[:, 3, None, None])
    rings = np.sin(2 * np.pi * 1.5 * waves[:, None, None] * distance)
    fields: list[Floats] = [cloud, (1 + wave) / 2, (wave * cross > 0) * 1.0, (1 + rings) / 2, grain.astype(np.float64)]
    field = np.choose(kind[:, None, None], fields)[..., None]
    mixed = field * colours[:, 0, None, None] + (1 - field) * colours[:, 1, None, None]
    return (255 * mixed).round().astype(np.uint8), kind.astype(np.int64)


def scramble(images: Images, seed: int = 0) -> Images:
    """Each image cut into 4 x 4 tiles that change places: its colours and textures without its object."""
    count, height, width, _ = images.shape
    if height % TILES or width % TILES:
        raise GottaError(f"images of {height} x {width} pixels cannot be cut into {TILES} x {TILES} tiles.")
    tiles = images.reshape(count, TILES, height // TILES, TILES, width // TILES, 3).swapaxes(2, 3)
    tiles = tiles.reshape(count, TILES * TILES, height // TILES, width // TILES, 3)
    order = Draws(seed, "scramble", 0, np.arange(count)).uniform(TILES * TILES).argsort(1)
    mixed = np.take_along_axis(tiles, order[:, :, None, None, None], 1)
    mixed = mixed.reshape(count, TILES, TILES, height // TILES, width // TILES, 3).swapaxes(2, 3)
    return np.ascontiguousarray(mixed.reshape(images.shape))
