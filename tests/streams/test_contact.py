import numpy as np
import pytest
from PIL import Image
from streams.test_video import FakeVideo, spec

from gotta.errors import GottaError
from gotta.streams import Stream
from gotta.streams.contact import GAP, TEXT, TILE, TOP, draw_clips


def tile(sheet, line, column):
    x, y = TEXT + column * (TILE + GAP), TOP + line * (TILE + GAP)
    return sheet[y : y + TILE, x : x + TILE]


def test_lines_are_clips_in_stream_order_and_columns_are_frames_in_time(tmp_path):
    stream = Stream(FakeVideo(), spec())
    sheet = np.asarray(Image.open(draw_clips(stream, tmp_path / "c.png", clips=24, frames=8)))
    for line in range(24):
        for column in range(8):
            assert (tile(sheet, line, column)[..., 0] == stream.index[8 * line + column]).all()


def test_fewer_are_spread_from_the_first_to_the_last(tmp_path):
    stream = Stream(FakeVideo(), spec())
    sheet = np.asarray(Image.open(draw_clips(stream, tmp_path / "c.png", clips=2, frames=2)))
    assert sheet.shape[0] == TOP + 2 * (TILE + GAP) + GAP
    corners = [tile(sheet, line, column)[0, 0, 0] for line in (0, 1) for column in (0, 1)]
    assert corners == stream.index[[0, 7, -8, -1]].tolist()


def test_bad_requests(tmp_path):
    stream = Stream(FakeVideo(), spec())
    with pytest.raises(GottaError, match="clips=0, frames=2: expected at least one of each"):
        draw_clips(stream, tmp_path / "c.png", clips=0, frames=2)
    with pytest.raises(GottaError, match="cannot be written"):
        draw_clips(stream, tmp_path / "none" / "c.png")
