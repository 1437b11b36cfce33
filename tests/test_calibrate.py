"""Accuracy under two corruptions."""

import numpy as np
import pytest
from test_benchmarks import FILES, load
from tiny import TinyData, seeded_net

from gotta.data.readers.ccc_paths import Calibration
from gotta.errors import GottaError

module = load(next(path for path in FILES if path.stem == "calibrate"))


def measured(**changes):
    data = TinyData()
    rows = module.choose_images(data.labels, 4)
    given = {"corruptions": ("contrast", "brightness"), "severities": (0, 5), **changes}
    return module.measure_pairs(seeded_net(classes=3), data.pixels[rows], data.labels[rows], rows, **given)


def test_both_orders_of_a_pair_are_measured_and_their_edges_are_the_corruptions_alone():
    found = measured()
    first, second = (np.array(found["accuracy"][pair]) for pair in ("contrast+brightness", "brightness+contrast"))
    assert first.shape == (2, 2)
    assert np.array_equal(first[0], second[:, 0])
    assert np.array_equal(first[:, 0], second[0])
    assert found["images"] == 12
    Calibration(found)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"corruptions": ("contrast",)}, "pairs need two corruptions or more"),
        ({"corruptions": ("contrast", "rain")}, "'rain' is unknown"),
        ({"severities": (1, 5)}, "severities must rise from 0"),
        ({"severities": (0, 0.1)}, "severity must be"),
    ],
)
def test_what_cannot_be_measured_is_told(change, told):
    with pytest.raises(GottaError, match=told):
        measured(**change)
