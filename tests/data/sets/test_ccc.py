"""Images under two corruptions."""

import numpy as np
import pytest

from gotta.checks.dataset import check
from gotta.data import dataset
from gotta.data.corruptions import corrupt
from gotta.errors import GottaError
from gotta.types import read_pair


def test_a_domain_is_two_corruptions_of_the_clean_images():
    data, clean = dataset("ccc"), dataset("cifar10-mini")
    rows, name = np.array([7, 3]), dataset("ccc").domains[10]
    made = clean.images("clean", rows)
    for corruption, severity in read_pair(name):
        made = corrupt(made, corruption, severity, "cifar", 0, rows)
    assert np.array_equal(data.images(name, rows), made)
    assert np.array_equal(data.labels, clean.labels)


def test_it_keeps_the_rules_of_data_sets():
    check(dataset("ccc"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"baseline": 1}, "baseline=1: no two corruptions lead there"),
        ({"known": "cifar10-mini-video"}, "two corruptions need clean images"),
        ({"known": "cifar"}, "data set 'cifar' is unknown"),
        ({"calibration": "nowhere.json"}, "is not a calibration"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_what_cannot_be_is_told(arguments, told):
    with pytest.raises(GottaError, match=told):
        dataset("ccc", **arguments)
