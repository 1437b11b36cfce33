"""Known images with foreign ones beside them."""

import numpy as np
import pytest
from PIL import Image

from gotta.checks.dataset import check
from gotta.data import dataset
from gotta.data.content import content_hash
from gotta.data.corruptions import corrupt
from gotta.errors import GottaError
from gotta.types import FOREIGN


def test_foreign_images_follow_the_known_ones_and_have_no_class():
    data = dataset("open", number=7)
    assert data.num_classes == 10
    assert len(data.labels) == 2007
    assert data.foreign.tolist() == list(range(2000, 2007))
    assert (data.labels[data.foreign] == FOREIGN).all()
    assert np.array_equal(data.labels[:2000], dataset("cifar10-mini").labels)


def test_foreign_images_are_corrupted_as_the_known_ones_are():
    data = dataset("open", number=7)
    rows = np.array([2003, 5, 2001, 9])
    got = data.images("contrast-5", rows)
    assert np.array_equal(got[[1, 3]], dataset("cifar10-mini").images("contrast-5", rows[[1, 3]]))
    clean = data.images("clean", rows)
    made = corrupt(np.ascontiguousarray(clean[[0, 2]]), "contrast", 5, index=np.array([3, 1]))
    assert np.array_equal(got[[0, 2]], made)


@pytest.mark.parametrize("foreign", ["patterns", "scrambled"])
def test_open_sets_keep_the_rules_of_data_sets(foreign):
    check(dataset("open", foreign=foreign, number=5))
    check(dataset(foreign))


def test_the_foreign_images_are_part_of_what_a_data_set_consists_of():
    hashes = {content_hash(dataset("open", foreign=name, number=5), ["snow-5"]) for name in ("patterns", "scrambled")}
    assert len(hashes) == 2


def test_foreign_images_may_be_those_of_a_folder(tmp_path):
    for name in ("a", "b"):
        (tmp_path / "other" / name).mkdir(parents=True)
        Image.new("RGB", (50, 40), (200, 10, 10)).save(tmp_path / "other" / name / "1.png")
    data = dataset("open", foreign=str(tmp_path / "other"), number=2)
    images = data.images("clean", data.foreign)
    assert images.shape == (2, 32, 32, 3)
    assert (images == (200, 10, 10)).all()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"foreign": "paterns"}, "data set 'paterns' is unknown. Did you mean 'patterns'"),
        ({"known": "cifar11-mini"}, "data set 'cifar11-mini' is unknown"),
        ({"known": "cifar10-mini-video"}, "foreign images cannot be mixed into a video"),
        ({"number": 0}, r"number must be a whole number of at least 1 \(got 0\)"),
        ({"foreign": "scrambled", "number": 501}, "number=501 foreign images, but 'scrambled' has only 500"),
        ({"foreign": "no/such/folder"}, "no/such/folder"),
        ({"foreign": "json:loads"}, "is code that is not registered, so it was not imported"),
    ],
)
def test_what_cannot_be_is_told(arguments, told):
    with pytest.raises(GottaError, match=told):
        dataset("open", **arguments)
