"""Clips: frames that show one object one after the other, and how they are split and thinned."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gotta.data.content import Content
from gotta.errors import GottaError, check_known
from gotta.limits import Count, require
from gotta.types import Images, IntArray

SPLITS = ("held_out", "train", "all")
HELD_OUT_OF = 4  # one of so many clips of a class is held out


@dataclass(frozen=True)
class Clips:
    """For each frame its label [N] and its clip [N]; the frames of a clip are rows that follow one another in time.

    `frames(rows)` gives the pixels [n, H, W, 3] of these rows, read or made when asked for: a `partial` of a function
    that another process can have, with what the frames come from.
    """

    frames: Callable[[IntArray], Images]
    labels: IntArray
    clips: IntArray
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, kept: IntArray) -> "Clips":
        """Only these frames; the classes stay."""
        return Clips(partial(_some, self.frames, kept), self.labels[kept], self.clips[kept], self.classes)


def stored(pixels: Images, rows: IntArray) -> Images:
    """Frames in memory."""
    return pixels[rows]


def _some(frames: Callable[[IntArray], Images], kept: IntArray, rows: IntArray) -> Images:
    return frames(kept[rows])


def frames_content(frames: Any) -> Iterator[Content]:
    """The arrays and files that frames come from."""
    for given in frames.args if isinstance(frames, partial) else ():
        if isinstance(given, np.ndarray | tuple):
            yield given
        else:
            yield from frames_content(given)


def position_in_clip(clips: IntArray) -> IntArray:
    """For each frame how many frames of its clip come before it.

    >>> position_in_clip(np.array([4, 4, 7, 7, 7])).tolist()
    [0, 1, 0, 1, 2]
    """
    order = np.argsort(clips, kind="stable")
    _, first, count = np.unique(clips[order], return_index=True, return_counts=True)
    position = np.empty(len(clips), np.int64)
    position[order] = np.arange(len(clips)) - np.repeat(first, count)
    return position


def every(clips: Clips, step: int) -> Clips:
    """The first frame of each clip and every `step`-th after it."""
    require("every", step, Count)
    return clips if step == 1 else clips.rows(np.flatnonzero(position_in_clip(clips.clips) % step == 0))


def split(clips: Clips, part: str) -> Clips:
    """The clips held out, those to train on, or all: an object is in one part with all of its frames, or not at all."""
    _, first, of_frame = np.unique(clips.clips, return_index=True, return_inverse=True)
    return clips.rows(np.flatnonzero(in_part(clips.labels[first], clips.classes, part)[of_frame]))


def in_part(label_of_clip: IntArray, classes: tuple[str, ...], part: str) -> NDArray[np.bool_]:
    """Which clips belong to this part of a split."""
    check_known("split", part, SPLITS)
    if part == "all":
        return np.ones(len(label_of_clip), bool)
    held = hold_out(label_of_clip, classes)
    return held if part == "held_out" else ~held


def hold_out(label_of_clip: IntArray, classes: tuple[str, ...]) -> NDArray[np.bool_]:
    """Which clips are held out: of each class the fourth, eighth, ...; the last one of two or three."""
    held = np.zeros(len(label_of_clip), bool)
    for label in np.unique(label_of_clip):
        members = np.flatnonzero(label_of_clip == label)
        if len(members) < 2:
            raise GottaError(f"class '{classes[label]}' has one clip, which cannot be split. Use split=all.")
        held[members[HELD_OUT_OF - 1 :: HELD_OUT_OF] if len(members) >= HELD_OUT_OF else members[-1:]] = True
    return held
