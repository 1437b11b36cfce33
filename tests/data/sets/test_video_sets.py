import pickle

import numpy as np
import pytest
from data.video_files import write_boxes, write_sheets, write_tracks

from gotta.data import EXTRA, STANDARD, corrupt
from gotta.data.readers.clips import Clips
from gotta.data.sets.video_sets import PER_FRAME, Video, boxes, cifar10_mini_video, gtsrb, tracks
from gotta.errors import GottaError

STILL = np.random.default_rng(0).integers(0, 256, (2, 32, 32, 3), dtype=np.uint8)


@pytest.fixture
def frozen():
    """Two clips of three equal frames each, so that all that differs between frames was drawn for a frame."""
    clips = np.repeat([4, 9], 3)
    return Video(Clips(lambda rows: STILL[np.asarray(rows) // 3], clips // 9, clips, ("a", "b")))


@pytest.mark.parametrize("name", [*STANDARD, *EXTRA])
def test_noise_is_drawn_per_frame_and_the_scene_per_clip(frozen, name):
    frames = frozen.images(f"{name}-5", np.arange(6))
    same = (frames[0] == frames[1]).all()
    assert same == (name not in PER_FRAME)
    assert (frames[3] == frames[4]).all() == same


def test_two_clips_of_the_same_picture_have_different_ice():
    video = Video(Clips(lambda rows: STILL[np.zeros(len(rows), int)], np.zeros(4, int), np.array([0, 0, 1, 1]), ("a",)))
    frames = video.images("frost-5", np.arange(4))
    assert (frames[0] == frames[1]).all()
    assert (frames[0] != frames[2]).any()


def test_the_first_frame_is_corrupted_like_an_image_of_its_row(frozen):
    for domain in ("frost", "shot_noise"):
        assert (frozen.images(f"{domain}-3", np.array([3])) == corrupt(STILL[1:], domain, 3, index=[3])).all()


def test_a_frame_does_not_depend_on_its_company(frozen):
    whole = frozen.images("gaussian_noise-5", np.arange(6))
    assert (frozen.images("gaussian_noise-5", np.array([4, 1])) == whole[[4, 1]]).all()


def test_clean_frames_and_none_at_all(frozen):
    assert (frozen.images("clean", np.array([5])) == STILL[1:]).all()
    assert frozen.images("fog-1", np.array([], np.int64)).shape == (0, 32, 32, 3)


def test_bad_requests(frozen):
    with pytest.raises(GottaError, match=r"domain 'fogg-1' is unknown. Did you mean 'fog-1'"):
        frozen.images("fogg-1", np.array([0]))
    with pytest.raises(GottaError, match=r"rows go from 2 to 6. Expected 0 to 5"):
        frozen.images("fog-1", np.array([2, 6]))
    with pytest.raises(GottaError, match="table of severities 'cfar' is unknown"):
        Video(frozen._clips, table="cfar")


def test_video_can_be_sent_to_another_process(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    write_sheets(tmp_path / "gtsrb_tracks.zip")
    write_tracks(tmp_path / "tracks")
    write_boxes(tmp_path / "boxes")
    for data in (gtsrb(every=2), tracks(size=8, every=3), boxes(size=8), cifar10_mini_video()):
        rows = np.array([3, 0])
        assert (pickle.loads(pickle.dumps(data)).images("clean", rows) == data.images("clean", rows)).all()
