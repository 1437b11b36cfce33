import numpy as np
import pytest
from data.video_files import frame, write_boxes, write_tracks
from PIL import Image

from gotta.data.readers.tracks import cut, read_boxes, read_tracks
from gotta.data.sets.video_sets import boxes, itd, tracks
from gotta.errors import GottaError


def test_folder_of_tracks_in_time(tmp_path):
    clips = read_tracks(write_tracks(tmp_path), size=12)
    assert clips.classes == ("bus", "cat")
    assert clips.labels.tolist() == [0] * 22 + [1] * 22
    assert clips.clips.tolist() == np.repeat([0, 1, 2, 3], 11).tolist()
    # Frame 10 comes after frame 9, not after frame 1.
    assert (clips.frames(np.arange(11)) == np.stack([frame(0, 0, time) for time in range(11)])).all()


def test_frames_are_fitted(tmp_path):
    (tmp_path / "a" / "t").mkdir(parents=True)
    Image.new("RGB", (60, 30)).save(tmp_path / "a" / "t" / "0.jpg")
    assert read_tracks(tmp_path, size=15).frames(np.array([0])).shape == (1, 15, 15, 3)


def test_tracks_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    write_tracks(tmp_path / "itd")
    data = tracks(path="itd", size=16, every=5)
    assert len(data.labels) == 4 * 3
    assert data.images("gaussian_noise-5", np.array([0, 4])).shape == (2, 16, 16, 3)
    assert len(itd(size=16).labels) == 4 * 11
    with pytest.raises(GottaError, match="data set 'tracks' is not in"):
        tracks()


@pytest.mark.parametrize("empty", ["cat", "cat/t9"])
def test_empty_folders(tmp_path, empty):
    write_tracks(tmp_path, classes=("bus",))
    (tmp_path / empty).mkdir(parents=True)
    with pytest.raises(GottaError, match=f"nothing in .*{empty}"):
        read_tracks(tmp_path, 12)


def test_no_tracks_and_a_broken_frame(tmp_path):
    with pytest.raises(GottaError, match=r"no tracks at .*Expected .*<class>/<track>/<frame>"):
        read_tracks(tmp_path / "nothing", 12)
    clips = read_tracks(write_tracks(tmp_path), 12)
    (tmp_path / "bus" / "t0" / "3.png").write_bytes(b"<html>")
    with pytest.raises(GottaError, match=r"bus/t0/3.png is not a readable image"):
        clips.frames(np.array([3]))


def test_boxes_are_cut_with_their_margin(tmp_path):
    clips = read_boxes(write_boxes(tmp_path), size=24, margin=0.5)
    assert clips.classes == ("bus", "cat")
    assert clips.labels.tolist() == [1] * 12 + [0] * 12
    pixels = clips.frames(np.array([11]))[0]
    # A box of 8 x 6 with half of it on each side is 16 x 12: the object is the middle half, grey around it.
    assert (pixels[8:16, 8:16] > 230).all()
    for border in (pixels[:4], pixels[-4:], pixels[:, :4], pixels[:, -4:]):
        assert (border < 120).all()


def test_without_margin_only_the_object_is_left(tmp_path):
    clips = read_boxes(write_boxes(tmp_path), size=10, margin=0)
    assert (clips.frames(np.arange(24)) == 255).all()


def test_boxes_end_at_the_border(tmp_path):
    picture = np.zeros((20, 30, 3), np.uint8)
    picture[:5, :5] = 255
    Image.fromarray(picture).save(tmp_path / "0.png")
    corner = cut(tmp_path / "0.png", np.array([-3.0, -3.0, 8.0, 8.0]), 0.0, 10)
    assert (corner == 255).all()
    whole = cut(tmp_path / "0.png", np.array([5.0, 5.0, 10.0, 10.0]), 9.0, 20)
    assert (whole[0, 0] == 255).all()
    assert not whole[-1, -1].any()
    with pytest.raises(GottaError, match=r"the box 40,3,5,5 of .*0.png lies outside of the picture, 30 x 20 pixels"):
        cut(tmp_path / "0.png", np.array([40.0, 3.0, 5.0, 5.0]), 0.1, 10)


def test_boxes_by_name_with_every_nth_frame(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    write_boxes(tmp_path / "boxes")
    data = boxes(size=8, every=5)
    assert data.clips.tolist() == [0, 0, 0, 1, 1, 1]


def test_a_classes_file_with_commas_and_names_of_two_words(tmp_path):
    write_boxes(tmp_path)
    (tmp_path / "classes.csv").write_text("0-x_1, polar bear\n\nQz_0,bus\n")
    assert read_boxes(tmp_path, 8, classes="classes.csv").classes == ("bus", "polar bear")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("classes.txt", "", r"classes.txt is empty"),
        ("classes.txt", "0-x_1\n", r"line 1 is not '<video> <class>': '0-x_1'"),
        ("classes.txt", "a cat\n", r"names videos that are not there: no .*anno/a.txt"),
        ("classes.txt", "Qz_0 cat\nQz_0 bus\n", r"line 2 names a video again"),
        ("anno/Qz_0.txt", "1,2,3,4\n", r"Qz_0.txt has 1 boxes for 12 frames"),
        ("anno/Qz_0.txt", "1,2,3\n", r"line 1 is '1,2,3'. Expected four numbers"),
        ("anno/Qz_0.txt", "1,2,x,4\n", r"line 1 is '1,2,x,4'. Expected four numbers"),
        ("anno/Qz_0.txt", "1,2,0,4\n", "line 1 is '1,2,0,4'. Expected four numbers x,y,w,h with w, h > 0"),
        ("anno/Qz_0.txt", "1,2,nan,4\n", "with w, h > 0"),
    ],
)
def test_bad_annotations(tmp_path, file, content, message):
    write_boxes(tmp_path)
    (tmp_path / file).write_text(content)
    with pytest.raises(GottaError, match=message):
        read_boxes(tmp_path, 8)


def test_bad_arguments(tmp_path):
    with pytest.raises(GottaError, match="margin must be a number of at least 0"):
        read_boxes(tmp_path, 8, margin=-1)
    with pytest.raises(GottaError, match=r"cannot read .*classes.txt"):
        read_boxes(tmp_path, 8)
    with pytest.raises(GottaError, match="size must be a whole number of at least 1"):
        read_tracks(tmp_path, 0)
