import numpy as np
import pytest

from gotta.data.readers.clips import Clips, every, hold_out, position_in_clip, split
from gotta.errors import GottaError


def clips_of(counts, frames=5):
    """`counts[c]` clips of class c; a frame's only pixel is its row."""
    label_of_clip = np.repeat(np.arange(len(counts)), counts)
    clips = np.repeat(np.arange(len(label_of_clip)), frames)
    names = tuple(f"class{c}" for c in range(len(counts)))
    return Clips(lambda rows: np.asarray(rows)[:, None, None, None], label_of_clip[clips], clips, names)


@pytest.mark.parametrize("counts", [(4, 9), (2, 3), (7, 2, 8, 75)])
def test_split_is_by_clip_and_has_every_class_in_both_parts(counts):
    clips = clips_of(counts)
    held, seen = split(clips, "held_out"), split(clips, "train")
    assert not set(held.clips) & set(seen.clips)
    assert sorted([*held.clips, *seen.clips]) == clips.clips.tolist()
    for part in (held, seen):
        assert set(part.labels) == set(range(len(counts)))
        rows = part.frames(np.arange(len(part))).ravel()
        assert (clips.clips[rows] == part.clips).all()
        assert (clips.labels[rows] == part.labels).all()
    assert len(split(clips, "all")) == len(clips)


def test_about_a_quarter_is_held_out_and_adding_a_class_changes_no_other():
    few, more = hold_out(np.repeat([0], 40), ("a",)), hold_out(np.repeat([0, 1], [40, 3]), ("a", "b"))
    assert few.sum() == 10
    assert (more[:40] == few).all()
    assert more[40:].tolist() == [False, False, True]


def test_a_class_of_one_clip_cannot_be_split():
    with pytest.raises(GottaError, match=r"class 'class1' has one clip, which cannot be split. Use split=all"):
        split(clips_of((4, 1)), "held_out")


def test_unknown_split():
    with pytest.raises(GottaError, match=r"split 'test' is unknown. .*held_out"):
        split(clips_of((4,)), "test")


def test_every_counts_from_the_first_frame_of_each_clip():
    thin = every(clips_of((2,), frames=5), 2)
    assert thin.frames(np.arange(len(thin))).ravel().tolist() == [0, 2, 4, 5, 7, 9]
    assert thin.clips.tolist() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(GottaError, match="every must be a whole number of at least 1"):
        every(thin, 0)


def test_position_in_clips_that_are_interleaved():
    assert position_in_clip(np.array([3, 1, 3, 3, 1])).tolist() == [0, 0, 1, 2, 1]
