"""Foreign samples in a stream."""

import numpy as np
import pytest
from streams.fake_data import FakeDataset, balanced

from gotta.errors import GottaError
from gotta.streams import Stream, StreamSpec
from gotta.types import FOREIGN


class Open(FakeDataset):
    def __init__(self, foreign=30):
        super().__init__(np.concatenate([balanced(5, 20), np.full(foreign, FOREIGN)]), num_classes=5)
        self.foreign = np.arange(100, 100 + foreign)


def stream(share=0.2, data=None, **settings):
    return Stream(data or Open(), StreamSpec(foreign=share, **{"domains": ("snow", "fog"), **settings}))


def test_the_share_of_foreign_samples_is_that_of_each_domain():
    found = stream(0.2)
    for visit in (0, 1):
        here = found.label[found.domain == visit]
        assert (len(here), int((here == FOREIGN).sum())) == (125, 25)
    assert set(found.index[found.label == FOREIGN]) <= set(range(100, 130))
    assert len(set(found.index[(found.label == FOREIGN) & (found.domain == 0)])) == 25  # each at most once


def test_the_known_samples_come_as_they_do_without_foreign_ones():
    mixed, alone = stream(0.2), stream(0.0)
    known = mixed.label != FOREIGN
    assert np.array_equal(mixed.index[known], alone.index)
    assert np.array_equal(mixed.domain[known], alone.domain)
    assert np.array_equal(alone.index, stream(0.0, FakeDataset(balanced(5, 20))).index)
    assert mixed.summary()["class_run_mean"] == alone.summary()["class_run_mean"]
    assert mixed.classes_per_batch.max() <= 5


def test_foreign_samples_of_a_mixed_pool_are_in_all_of_its_domains():
    found = stream(0.2, schedule="mixed", order="iid")
    assert int((found.label == FOREIGN).sum()) == 50  # of 60: 30 in each of two domains
    assert set(found.domain[found.label == FOREIGN]) == {0, 1}


def test_the_seed_moves_them():
    places = [np.flatnonzero(stream(seed=seed).label == FOREIGN).tolist() for seed in (0, 0, 1)]
    assert places[0] == places[1] != places[2]


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, True, "much", float("nan")])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(GottaError, match="foreign must be a number of at least 0 and below 1"):
        stream(share)


def test_too_few_foreign_images_and_none_at_all_are_told():
    with pytest.raises(
        GottaError, match=r"foreign=0.5 of a domain are 100 images, but there are only 30. Use foreign <= 0.23"
    ):
        stream(0.5)
    with pytest.raises(GottaError, match=r"this data set has none. Use data set 'open'"):
        stream(0.2, FakeDataset(balanced(5, 20)))
