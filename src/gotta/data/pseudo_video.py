"""Pseudo-video: a still image seen by a camera that pans, zooms and adjusts its exposure smoothly."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gotta.data.clips import Clips
from gotta.errors import GottaError
from gotta.seeds import generator
from gotta.types import Images, IntArray

PAN = 1 / 8  # the farthest the camera moves, as a share of the side
ZOOM = 0.1  # the picture grows and shrinks by up to this share
LIGHT = 0.15  # and becomes brighter and darker by up to this share
REACH = np.array([PAN, PAN, ZOOM, LIGHT])
SLOWEST, FASTEST = 0.5, 1.0  # swings in a clip

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Camera:
    """Frames made when asked for: row k shows image k // frames at time k % frames."""

    images: Images
    swings: Floats
    frames: int

    def __call__(self, rows: IntArray) -> Images:
        still, time = np.divmod(np.asarray(rows, np.int64), self.frames)
        return seen(self.images[still], positions(self.swings[still], time / self.frames))


def pseudo_video(images: Images, labels: IntArray, classes: tuple[str, ...], frames: int = 32, seed: int = 0) -> Clips:
    """One clip of so many frames from each still image, in the order of the images; a frame is made when asked for."""
    if frames < 1:
        raise GottaError(f"frames={frames} makes no clip. Expected 1 or more.")
    swings = generator(seed, "pseudo-video").random((len(images), 3, len(REACH)))
    clips = np.repeat(np.arange(len(images), dtype=np.int64), frames)
    return Clips(Camera(images, swings, frames), np.repeat(labels, frames), clips, classes)


def positions(swings: Floats, time: Floats) -> Floats:
    """[n, 4]: where the camera is (down, right, zoom, light) at these times in 0 .. 1, each a slow swing of its own.

    A row of `swings` [n, 3, 4] gives the amplitude, frequency and phase of each as numbers in 0 .. 1.
    """
    amplitude, frequency, phase = swings[:, 0], swings[:, 1], swings[:, 2]
    turns = (SLOWEST + (FASTEST - SLOWEST) * frequency) * time[:, None] + phase
    reach: Floats = REACH * (0.5 + 0.5 * amplitude)
    return reach * np.sin(2 * np.pi * turns)


def seen(images: Images, at: Floats) -> Images:
    """Each image [n, H, W, 3] as seen from its position [n, 4]; beyond its border it is mirrored."""
    height, width = images.shape[1:3]
    down, right, zoom, light = at.T
    y = _axis(height, down * height, zoom)
    x = _axis(width, right * width, zoom)
    (top, bottom, fall), (left, side, shift) = _between(y, height), _between(x, width)
    n = np.arange(len(images))[:, None, None]
    fall, shift = fall[:, :, None, None], shift[:, None, :, None]
    upper = images[n, top[:, :, None], left[:, None]] * (1 - shift) + images[n, top[:, :, None], side[:, None]] * shift
    lower = images[n, bottom[:, :, None], left[:, None]] * (1 - shift)
    lower += images[n, bottom[:, :, None], side[:, None]] * shift
    out = (upper * (1 - fall) + lower * fall) * (1 + light)[:, None, None, None]
    pixels: Images = np.clip(np.round(out), 0, 255).astype(np.uint8)
    return pixels


def _axis(side: int, shift: Floats, zoom: Floats) -> Floats:
    """[n, side]: the places in the image that the pixels along one axis look at."""
    middle = (side - 1) / 2
    return middle + (np.arange(side) - middle) / (1 + zoom[:, None]) + shift[:, None]


def _between(place: Floats, side: int) -> tuple[IntArray, IntArray, Floats]:
    """The two pixels around each place, mirrored at the borders, and how near it is to the second."""
    lower = np.floor(place)
    share = place - lower
    first = lower.astype(np.int64)
    return _mirrored(first, side), _mirrored(first + 1, side), share


def _mirrored(index: IntArray, side: int) -> IntArray:
    """Positions beyond the border as in a mirror at the outermost pixel.

    >>> _mirrored(np.array([-2, -1, 0, 3, 4, 5]), 4).tolist()
    [2, 1, 0, 3, 2, 1]
    """
    period = max(2 * (side - 1), 1)
    folded = np.abs(index) % period
    mirrored: IntArray = np.minimum(folded, period - folded)
    return mirrored
