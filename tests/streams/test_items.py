import numpy as np
import pytest
from streams.fake_data import FakeDataset

from gotta.errors import GottaError
from gotta.show.stream_picture import show_text
from gotta.streams import Stream, StreamSpec, class_runs
from gotta.streams.items import clip_items


class FakeVideo(FakeDataset):
    """`classes` classes of `clips` clips, whose frames are rows in time; pixels tell row and domain apart."""

    def __init__(self, classes=4, clips=6, frames=8):
        self.clips = np.repeat(np.arange(classes * clips), frames)
        super().__init__(self.clips // clips)


def spec(**changes):
    return StreamSpec.of(**{"domains": "gaussian_noise", "schedule": "one", "batch_size": 16, **changes})


def shown_clips(stream):
    return stream.dataset.clips[stream.index][stream.clip_starts]


@pytest.mark.parametrize("order", ["iid", "dirichlet", "lame", "sorted"])
def test_frames_of_a_clip_follow_one_another_in_time_and_each_comes_once(order):
    stream = Stream(FakeVideo(), spec(order=order))
    assert sorted(stream.index.tolist()) == list(range(4 * 6 * 8))
    by_clip = stream.index.reshape(-1, 8)
    assert (np.diff(by_clip) == 1).all()
    assert (by_clip[:, 0] % 8 == 0).all()
    assert (stream.label == stream.dataset.labels[stream.index]).all()
    assert stream.clip_starts.tolist() == list(range(0, 192, 8))


def test_clips_are_ordered_as_images_of_their_classes_would_be():
    """The order sees one item per clip: the stream of clips is the stream of as many images, each drawn out in time."""
    video, images = FakeVideo(), FakeDataset(np.repeat(np.arange(4), 6))
    for order in ("iid", "dirichlet"):
        clips, stills = Stream(video, spec(order=order, seed=3)), Stream(images, spec(order=order, seed=3))
        assert shown_clips(clips).tolist() == stills.index.tolist()


def test_smaller_gamma_gives_longer_runs_of_one_class():
    video = FakeVideo(classes=10, clips=40, frames=4)
    runs = [class_runs(Stream(video, spec(gamma=gamma)).label).mean() for gamma in (100, 0.01)]
    assert runs[1] > 2 * runs[0] > 2 * 4


def test_number_of_clips_and_frames():
    stream = Stream(FakeVideo(), spec(clips=5, frames=3, choose="random", order="iid"))
    assert stream.num_samples == 15
    assert len(stream.clip_starts) == len(set(shown_clips(stream).tolist())) == 5
    assert sorted(set((stream.index % 8).tolist())) == [0, 1, 2]
    first = Stream(FakeVideo(), spec(clips=5, order="sorted"))
    assert shown_clips(first).tolist() == [0, 1, 2, 3, 4]


def test_per_class_and_classes_count_clips():
    stream = Stream(FakeVideo(), spec(per_class=2, classes=(1, 3)))
    assert sorted(shown_clips(stream).tolist()) == [6, 7, 18, 19]
    with pytest.raises(GottaError, match=r"per_class=7, but class 0 has only 6. Use fewer"):
        Stream(FakeVideo(), spec(per_class=7))


def test_a_shorter_clip_is_shown_whole_and_rows_need_not_be_sorted():
    items = clip_items(np.array([5, 5, 2, 5, 2]), np.array([1, 1, 0, 1, 0]), frames=2)
    assert items.labels.tolist() == [2, 5]
    assert items.rows_of(np.array([1, 0, 1])).tolist() == [0, 1, 2, 4, 0, 1]
    assert clip_items(np.array([5, 5, 2]), np.array([1, 1, 0]), frames=9).lengths.tolist() == [1, 2]


def test_a_clip_has_one_domain_even_where_domains_are_mixed():
    stream = Stream(FakeVideo(), spec(domains="fog,snow", schedule="mixed", order="iid"))
    assert stream.num_samples == 2 * 192
    assert len(stream.clip_starts) == 48
    for start in stream.clip_starts:
        assert len(set(stream.domain[start : start + 8].tolist())) == 1
    assert len(set(stream.domain[stream.clip_starts][:12].tolist())) == 2


def test_each_domain_shows_the_same_clips():
    stream = Stream(FakeVideo(), spec(domains="fog,snow", schedule="continual", clips=4, choose="random"))
    seen = [set(stream.index[stream.domain == d].tolist()) for d in (0, 1)]
    assert seen[0] == seen[1]
    assert stream.starts == (0, 32)


def test_copies_of_a_clip_are_clips_of_their_own():
    stream = Stream(FakeVideo(frames=1), spec(duplicates=3, order="sorted"))
    assert len(stream.clip_starts) == 3 * 24


def test_deterministic_and_hashed():
    same = [Stream(FakeVideo(), spec(seed=seed)).hash for seed in (0, 0, 1)]
    assert same[0] == same[1] != same[2]
    assert Stream(FakeVideo(), spec(frames=7)).hash != same[0]


def test_the_steps_have_the_pixels_of_their_rows():
    stream = Stream(FakeVideo(), spec(frames=5))
    for step in stream:
        assert (step.x[:, 0, 0, 0] * 255).round().int().tolist() == step.truth.index.tolist()


def test_text_says_how_many_clips():
    assert "clips        24 of 8 to 8 frames" in show_text(Stream(FakeVideo(), spec()))
    assert "clips" not in show_text(Stream(FakeDataset([0, 1, 0, 1]), spec()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clips": 25}, "clips=25, but there are only 24. Use clips <= 24"),
        ({"limit": 5}, "limit=5 counts images, and this data set has clips. Use clips="),
        ({"clips": 5, "per_class": 2}, "per_class and clips both choose images"),
        ({"clips": 0}, r"clips must be a whole number of at least 1 \(got 0\)"),
        ({"frames": 1.5}, r"frames must be a whole number of at least 1 \(got 1.5\)"),
    ],
)
def test_mistakes(changes, message):
    with pytest.raises(GottaError, match=message):
        Stream(FakeVideo(), spec(**changes))


@pytest.mark.parametrize("changes", [{"clips": 2}, {"frames": 2}])
def test_images_have_no_clips(changes):
    with pytest.raises(GottaError, match=r"is for video, and this data set has no clips"):
        Stream(FakeDataset([0, 1, 1]), spec(**changes))


def test_a_data_set_whose_clips_are_wrong():
    video = FakeVideo()
    video.clips = video.clips[:-1]
    with pytest.raises(GottaError, match="names clips for 191 of its 192 frames"):
        Stream(video, spec())
    with pytest.raises(GottaError, match=r"clip 7 shows more than one class. Expected one object per clip"):
        clip_items(np.array([0, 0, 1]), np.array([3, 7, 7]))
