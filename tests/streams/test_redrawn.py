"""`redraws`: each image several times, with random draws of its own each time."""

import pickle

import numpy as np
import pytest
from streams.fake_data import FakeDataset, balanced

from gotta.data.dataset import Corrupted
from gotta.errors import GottaError
from gotta.streams import Stream, StreamSpec
from gotta.streams.redrawn import Redrawn
from gotta.streams.stream import shown


def images(count: int = 12) -> Corrupted:
    pixels = np.random.default_rng(0).integers(0, 256, (count, 32, 32, 3)).astype(np.uint8)
    return Corrupted(pixels, np.arange(count) % 3, 3)


def stream(**settings: object) -> Stream:
    return Stream(images(), StreamSpec.of(domains="gaussian_noise,contrast", batch_size=4, **settings))


def test_each_image_comes_so_often_in_each_domain() -> None:
    redrawn = stream(redraws=3)
    assert redrawn.num_samples == 2 * 3 * 12
    for visit in (0, 1):
        assert sorted(redrawn.index[redrawn.domain == visit].tolist()) == list(range(36))
    assert (redrawn.label == redrawn.index % 12 % 3).all()


def test_the_order_is_that_of_duplicates() -> None:
    """Copies of an image lie as near to one another as with `duplicates`; only their pixels differ."""
    again = stream(duplicates=3)
    assert (stream(redraws=3).index % 12 == again.index).all()


def test_noise_differs_and_what_is_not_drawn_repeats() -> None:
    data = Redrawn(images(), 3)
    noisy = [data.images("gaussian_noise-5", np.array([5 + 12 * copy]))[0] for copy in range(3)]
    assert all((noisy[a] != noisy[b]).mean() > 0.5 for a, b in ((0, 1), (0, 2), (1, 2)))
    assert (noisy[0] == images().images("gaussian_noise-5", np.array([5]))[0]).all()
    flat = data.images("contrast-5", np.array([5, 17, 29]))
    assert (flat == flat[0]).all()


def test_a_note_names_the_domains_that_repeat() -> None:
    (note,) = stream(redraws=2).notes
    assert note == "redraws=2 repeats the same pixels in contrast-5: nothing is drawn there."
    assert stream().notes == []


def test_a_data_set_without_other_draws_repeats_its_images() -> None:
    data = FakeDataset(balanced(3, 4), domains=("snow-5",))
    redrawn = Stream(data, StreamSpec(domains="snow", redraws=2))
    pixels = shown(redrawn.dataset, redrawn.request(redrawn.batches[0]))
    assert (pixels[:, 0, 0, 0] == redrawn.index % 12).all()
    assert redrawn.notes == ["redraws=2 repeats the same pixels in snow-5: nothing is drawn there."]


def test_rows_of_a_request_keep_their_places() -> None:
    data = Redrawn(images(), 2)
    rows = np.array([14, 3, 2, 15])
    one_by_one = [data.images("snow-5", rows[k : k + 1])[0] for k in range(4)]
    assert (data.images("snow-5", rows) == np.stack(one_by_one)).all()
    assert data.images("snow-5", rows[:0]).shape == (0, 32, 32, 3)


def test_another_process_draws_the_same() -> None:
    data = Redrawn(images(), 2)
    sent = pickle.loads(pickle.dumps(data))
    assert (sent.images("fog-5", np.array([1, 13])) == data.images("fog-5", np.array([1, 13]))).all()


def test_one_draw_leaves_the_stream_as_it_was() -> None:
    assert stream(redraws=1).hash == stream().hash
    assert not isinstance(stream(redraws=1).dataset, Redrawn)


def test_clips_are_not_redrawn() -> None:
    data = FakeDataset([0, 0, 1, 1], domains=("snow-5",))
    data.clips = np.array([0, 0, 1, 1])  # type: ignore[attr-defined]
    with pytest.raises(GottaError, match="redraws=2 is for images, and this data set has clips"):
        Stream(data, StreamSpec(domains="snow", redraws=2))


def test_redraws_must_be_a_count() -> None:
    with pytest.raises(GottaError, match=r"redraws must be a whole number of at least 1 \(got 0\)"):
        stream(redraws=0)
