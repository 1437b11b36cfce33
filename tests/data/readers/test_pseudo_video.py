import numpy as np
import pytest

from gotta.data import bundled
from gotta.data.readers.pseudo_video import LIGHT, PAN, ZOOM, positions, pseudo_video, seen
from gotta.data.sets.video_sets import cifar10_mini_video
from gotta.errors import GottaError


@pytest.fixture(scope="module")
def video():
    return cifar10_mini_video()


def test_every_bundled_image_becomes_a_clip_of_its_class(video):
    _, labels, _ = bundled()
    assert len(video.labels) == 2000 * 32
    assert (video.labels[::32] == labels).all()
    assert (video.labels.reshape(-1, 32) == labels[:, None]).all()
    assert video.classes[0] == "airplane"


@pytest.mark.parametrize("power", [1, 2])
def test_consecutive_frames_are_at_least_three_times_nearer_than_random_pairs(video, power):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2000, 300) * 32 + rng.integers(0, 31, 300)
    now, then = (video.images("clean", r).astype(float) for r in (rows, rows + 1))
    other = video.images("clean", rng.integers(0, len(video.labels), 300)).astype(float)

    def distance(a, b):
        return (np.abs(a - b) ** power).mean((1, 2, 3)) ** (1 / power)

    assert 3 * distance(now, then).mean() < distance(now, other).mean()
    # And it is a moving picture: no frame is a copy of the one before it.
    assert (distance(now, then) > 0.3).mean() > 0.95


def test_frames_far_apart_differ_more_than_neighbours(video):
    rows = np.arange(0, 2000, 20) * 32
    first, second, middle = (video.images("clean", rows + k).astype(float) for k in (0, 1, 12))
    assert np.abs(first - middle).mean() > 3 * np.abs(first - second).mean()


def test_the_camera_at_rest_sees_the_image():
    images = bundled()[0][:5]
    assert (seen(images, np.zeros((5, 4))) == images).all()


def test_pan_zoom_and_light_do_what_they_say():
    images = bundled()[0][:1]
    assert (seen(images, np.array([[2 / 32, 0, 0, 0]]))[0, :-2] == images[0, 2:]).all()
    assert (seen(images, np.array([[0, -3 / 32, 0, 0]]))[0, :, 3:] == images[0, :, :-3]).all()
    grey = np.full((1, 8, 8, 3), 100, np.uint8)
    assert (seen(grey, np.array([[0.1, 0.1, 0.1, 0.15]])) == 115).all()
    dot = np.zeros((1, 31, 31, 3), np.uint8)
    dot[0, 10:21, 10:21] = 255  # a square around the middle grows with the picture
    assert seen(dot, np.array([[0, 0, 0.5, 0]])).sum() > 2 * dot.sum()


def test_the_camera_stays_in_reach_and_moves_slowly():
    swings = np.random.default_rng(1).random((200, 3, 4))
    path = np.stack([positions(swings, np.full(200, t / 32)) for t in range(32)])
    assert (np.abs(path) <= [PAN, PAN, ZOOM, LIGHT]).all()
    assert (np.abs(np.diff(path, axis=0)) <= np.array([PAN, PAN, ZOOM, LIGHT]) * 2 * np.pi / 32).all()


def test_same_seed_same_pixels_and_another_seed_others():
    images, labels, _ = bundled()
    clips = [pseudo_video(images[:3], labels[:3], ("a",) * 10, 4, seed).frames(np.arange(12)) for seed in (0, 0, 1)]
    assert (clips[0] == clips[1]).all()
    assert (clips[0] != clips[2]).any()
    with pytest.raises(GottaError, match="frames must be a whole number of at least 1"):
        pseudo_video(images, labels, (), 0)
