"""What an order arranges: images, or the clips of a video, whose frames stay together and in time."""

from dataclasses import dataclass

import numpy as np

from gotta.errors import GottaError
from gotta.streams.foreign import foreign_rows
from gotta.streams.stream_spec import StreamSpec
from gotta.types import Dataset, IntArray


@dataclass(frozen=True)
class Items:
    """Item k is of class `labels[k]` and shows `rows[starts[k] : starts[k + 1]]` of the data set."""

    labels: IntArray  # [I]
    rows: IntArray
    starts: IntArray  # [I + 1]

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.starts)

    def rows_of(self, items: IntArray) -> IntArray:
        """The rows of these items, one item after the other.

        >>> two = Items(np.array([0, 1]), np.array([5, 6, 7]), np.array([0, 2, 3]))
        >>> two.rows_of(np.array([1, 0])).tolist()
        [7, 5, 6]
        """
        lengths = self.lengths[items]
        before = np.cumsum(lengths) - lengths
        return np.asarray(self.rows[np.arange(lengths.sum()) + np.repeat(self.starts[items] - before, lengths)])


def items_of(dataset: Dataset, spec: StreamSpec) -> Items:
    """The clips of a data set that has them, each with its first `spec.frames` frames; else its images."""
    clips = getattr(dataset, "clips", None)
    if clips is not None:
        _refuse(spec, ("redraws",), "is for images, and this data set has clips. Use duplicates instead")
        _refuse(spec, ("limit",), "counts images, and this data set has clips. Use clips=... or per_class=...")
        return clip_items(dataset.labels, np.asarray(clips), spec.frames)
    _refuse(spec, ("clips", "frames"), "is for video, and this data set has no clips. Use limit=... for images")
    _refuse(spec, ("boundaries",), "is for video, and this data set has no clips. Leave it out")
    rows = np.setdiff1d(np.arange(len(dataset.labels)), foreign_rows(dataset))
    return Items(dataset.labels[rows], rows, np.arange(len(rows) + 1))


def clip_items(labels: IntArray, clips: IntArray, frames: int | None = None) -> Items:
    """One item per clip, in the order of the clips' numbers; a shorter clip is shown whole."""
    if clips.shape != labels.shape:
        raise GottaError(f"the data set names clips for {clips.size} of its {labels.size} frames. Expected all.")
    order = np.argsort(clips, kind="stable").astype(np.int64)
    _, starts = np.unique(clips[order], return_index=True)
    lengths = np.diff(np.append(starts, len(order)))
    label = labels[order[starts]]
    mixed = order[labels[order] != np.repeat(label, lengths)]
    if len(mixed):
        raise GottaError(f"clip {clips[mixed[0]]} shows more than one class. Expected one object per clip.")
    position = np.arange(len(order)) - np.repeat(starts, lengths)
    shown = lengths if frames is None else np.minimum(lengths, frames)
    rows = order[position < np.repeat(shown, lengths)]
    return Items(label, rows, np.concatenate([[0], np.cumsum(shown)]).astype(np.int64))


def _refuse(spec: StreamSpec, names: tuple[str, ...], why: str) -> None:
    for name in names:
        if getattr(spec, name) != getattr(StreamSpec, name):
            raise GottaError(f"{name}={getattr(spec, name)} {why}.")
