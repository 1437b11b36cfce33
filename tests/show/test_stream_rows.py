"""Which samples of a stream a sheet shows."""

import numpy as np
import pytest
from streams.fake_data import FakeDataset, balanced
from streams.test_items import FakeVideo, spec

from gotta.show.contact_sheet import class_colours
from gotta.show.sheet_rows import batch_rows, stream_clip_rows
from gotta.streams import Stream, StreamSpec


@pytest.mark.parametrize("schedule", ["continual", "mixed"])
def test_rows_are_the_batches_as_the_stream_gives_them(schedule):
    stream = Stream(FakeDataset(balanced(4, 10)), StreamSpec.of(schedule=schedule, batch_size=7, gamma=1.0))
    rows = batch_rows(stream, ["a", "b", "c", "d"], rows=len(stream), columns=5)
    colours = class_colours(4)
    assert len(rows) == len(stream)
    for k, row in enumerate(rows):
        step = stream.step(k)
        shown = np.stack([tile.image for tile in row.tiles])
        assert np.array_equal(shown, (step.x[:5].permute(0, 2, 3, 1) * 255).round().byte().numpy())
        assert [tile.caption for tile in row.tiles] == ["abcd"[y] for y in step.truth.label[:5]]
        assert [tile.colour for tile in row.tiles] == [colours[y] for y in step.truth.label[:5]]
        assert row.name == f"batch {k}"


def test_long_streams_are_sampled_from_first_to_last_batch():
    stream = Stream(FakeDataset(balanced(4, 10)), StreamSpec.of(batch_size=7, domain_order="snow,fog"))
    rows = batch_rows(stream, ["a", "b", "c", "d"], rows=3, columns=50)
    assert [row.name for row in rows] == ["batch 0", f"batch {(len(stream) - 1) / 2:.0f}", f"batch {len(stream) - 1}"]
    assert len(rows[0].tiles) == 7
    assert rows[0].note == "snow-5"
    assert rows[-1].note == "fog-5"
    border = batch_rows(stream, ["a", "b", "c", "d"], rows=99, columns=50)[5]
    assert border.note == "snow-5 and 1 more"


def test_rows_of_video_are_clips_as_they_arrive_and_columns_are_frames_in_time():
    stream = Stream(FakeVideo(), spec())
    rows = stream_clip_rows(stream, ["a", "b", "c", "d"], rows=99, columns=99)
    assert len(rows) == 24
    for k, row in enumerate(rows):
        assert [tile.image[0, 0, 0] for tile in row.tiles] == stream.index[8 * k : 8 * k + 8].tolist()
        assert row.name == f"{k}: {'abcd'[stream.label[8 * k]]}"
        assert row.note == "gaussian_noise-5, 8 frames"


def test_long_video_is_sampled_from_the_first_to_the_last_clip_and_frame():
    stream = Stream(FakeVideo(), spec())
    rows = stream_clip_rows(stream, ["a", "b", "c", "d"], rows=2, columns=2)
    assert [tile.image[0, 0, 0] for row in rows for tile in row.tiles] == stream.index[[0, 7, -8, -1]].tolist()
    assert [tile.caption for tile in rows[1].tiles] == ["0", "7"]
