"""Clips: frames that show one object one after the other, and how they are split and thinned."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gotta.data.content import Content
from gotta.errors import GottaError, unknown
from gotta.limits import Count, require
from gotta.types import Images, IntArray

SPLITS = ("held_out", "train", "all")
HELD_OUT_OF = 4  # one of so many clips of a class is held out


@dataclass(frozen=True)
class Stored:
    """Frames in memory."""

    pixels: Images

    def __call__(self, rows: IntArray) -> Images:
        return self.pixels[rows]


@dataclass(frozen=True)
class Chosen:
    """Some rows of other frames."""

    frames: Callable[[IntArray], Images]
    kept: IntArray

    def __call__(self, rows: IntArray) -> Images:
        return self.frames(self.kept[rows])


@dataclass(frozen=True)
class Clips:
    """For each frame its label [N] and its clip [N]; the frames of a clip are rows that follow one another in time.

    `frames(rows)` gives the pixels [n, H, W, 3] of these rows, read or made when asked for.
    """

    frames: Callable[[IntArray], Images]
    labels: IntArray
    clips: IntArray
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, kept: IntArray) -> "Clips":
        """Only these frames; the classes stay."""
        return Clips(Chosen(self.frames, kept), self.labels[kept], self.clips[kept], self.classes)


def frames_content(frames: Any) -> Iterator[Content]:
    """The arrays and files that frames come from, whatever kind of frames they are."""
    for field in fields(frames) if is_dataclass(frames) else ():
        value = getattr(frames, field.name)
        if is_dataclass(value):
            yield from frames_content(value)
        elif isinstance(value, np.ndarray | tuple):
            yield value


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
    if part not in SPLITS:
        raise unknown("split", part, SPLITS)
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
            raise GottaError(
                f"class '{classes[label]}' has one clip, which cannot be split. Use split=all, or add clips of it."
            )
        held[members[HELD_OUT_OF - 1 :: HELD_OUT_OF] if len(members) >= HELD_OUT_OF else members[-1:]] = True
    return held
