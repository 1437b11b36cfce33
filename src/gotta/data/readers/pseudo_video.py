"""Pseudo-video: a still image seen by a camera that pans, zooms and adjusts its exposure smoothly."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from gotta.data.corruptions.pixels import fold_between_centres
from gotta.data.readers.clips import Clips
from gotta.limits import Count, require
from gotta.seeds import generator
from gotta.types import Floats, Images, IntArray

PAN = 1 / 8  # the farthest the camera moves, as a share of the side
ZOOM = 0.1  # the picture grows and shrinks by up to this share
LIGHT = 0.15  # and becomes brighter and darker by up to this share
REACH = np.array([PAN, PAN, ZOOM, LIGHT])
SLOWEST, FASTEST = 0.5, 1.0  # swings in a clip

Shades = NDArray[np.float32]


def pseudo_video(images: Images, labels: IntArray, classes: tuple[str, ...], frames: int = 32, seed: int = 0) -> Clips:
    """One clip of so many frames from each still image, in the order of the images; a frame is made when asked for."""
    require("frames", frames, Count)
    swings = generator(seed, "pseudo-video").random((len(images), 3, len(REACH)))
    clips = np.repeat(np.arange(len(images), dtype=np.int64), frames)
    return Clips(partial(_film, images, swings, frames), np.repeat(labels, frames), clips, classes)


def _film(images: Images, swings: Floats, frames: int, rows: IntArray) -> Images:
    """Row k shows image k // frames at time k % frames."""
    still, time = np.divmod(np.asarray(rows, np.int64), frames)
    return seen(images[still], positions(swings[still], time / frames))


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
    upright = _between(images, _axis(height, down * height, zoom))
    # Turned, so that the columns of an image lie where its rows were.
    turned = _between(upright.swapaxes(1, 2), _axis(width, right * width, zoom))
    turned *= (1 + light[:, None, None, None]).astype(np.float32)
    return np.ascontiguousarray(np.clip(np.rint(turned), 0, 255).astype(np.uint8).swapaxes(1, 2))


def _axis(side: int, shift: Floats, zoom: Floats) -> Floats:
    """[n, side]: the places in the image that the pixels along one axis look at."""
    middle = (side - 1) / 2
    return middle + (np.arange(side) - middle) / (1 + zoom[:, None]) + shift[:, None]


def _between(images: NDArray[np.uint8] | Shades, place: Floats) -> Shades:
    """The rows of each image [n, H, ...] at places [n, h] between its rows, mirrored at the borders."""
    side, first = images.shape[1], np.floor(place).astype(np.int64)
    share = (place - first).astype(np.float32)[:, :, None, None]
    n = np.arange(len(images))[:, None]
    mixed: Shades = images[n, fold_between_centres(first, side)] * (1 - share)
    mixed += images[n, fold_between_centres(first + 1, side)] * share
    return mixed
