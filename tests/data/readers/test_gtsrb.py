import zipfile

import numpy as np
import pytest
from data.video_files import frame, write_sheets
from PIL import Image

from gotta.data.readers.clips import split
from gotta.data.readers.gtsrb import is_sheets, read_sheets
from gotta.data.sets.video_sets import gtsrb
from gotta.errors import GottaError


def test_sheets_become_frames_in_time(tmp_path):
    path = write_sheets(tmp_path / "t.zip", ((0, 2), (3, 1)), frames=4)
    clips = read_sheets(path)
    assert is_sheets(path)
    assert clips.classes == ("00", "03")
    assert clips.labels.tolist() == [0] * 8 + [1] * 4
    assert clips.clips.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert (clips.frames(np.array([6, 11])) == np.stack([frame(0, 1, 2), frame(3, 0, 3)])).all()


def test_by_name_from_the_data_home_those_held_out(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    write_sheets(tmp_path / "gtsrb_tracks.zip")
    data = gtsrb()
    assert sorted(set(data.clips.tolist())) == [3, 8]
    assert data.num_classes == 2
    assert len(gtsrb(split="all").labels) == 27
    assert len(gtsrb(every=2).labels) == 4


def test_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    with pytest.raises(GottaError, match=r"data set 'gtsrb' is not in .*Expected there: gtsrb_tracks.zip"):
        gtsrb()


def sheet_of(tmp_path, size):
    path = tmp_path / "sheet.png"
    Image.new("RGB", size).save(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"readme.txt": b""}, "no images at .*t.zip"),
        ({"00/a.png": b"<html>"}, "00/a.png is not a readable image"),
        ({"00/a.png": (30, 12)}, "30 x 12 pixels. Expected square frames"),
        ({"00/a.png": (24, 12), "00/b.png": (32, 16)}, "frames of 12 and of 16 pixels"),
    ],
)
def test_bad_sheets(tmp_path, files, message):
    path = tmp_path / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, bytes) else sheet_of(tmp_path, content))
    with pytest.raises(GottaError, match=message):
        read_sheets(path)


def test_a_file_that_was_cut_off(tmp_path):
    path = write_sheets(tmp_path / "t.zip")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(GottaError, match=r"t.zip: it is not a readable zip archive"):
        read_sheets(path)


def test_the_real_tracks(needed):
    clips = read_sheets(needed("gtsrb_tracks.zip"))
    assert (len(clips), len(clips.classes), clips.clips.max() + 1) == (39_209, 43, 1307)
    held = split(clips, "held_out")
    assert len(np.unique(held.clips)) == 311
    rows = np.sort(np.random.default_rng(0).choice(len(held) - 1, 400, replace=False))
    rows = rows[held.clips[rows] == held.clips[rows + 1]]
    now, then = (held.frames(r).astype(float) for r in (rows, rows + 1))
    assert 3 * np.abs(now - then).mean() < np.abs(now - np.roll(now, 100, 0)).mean()
