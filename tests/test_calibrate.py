"""Accuracy under two corruptions."""

import json

import numpy as np
import pytest
from cli.shell import as_in_a_shell, gotta  # noqa: F401
from tiny import TinyData, seeded_net

from gotta.calibrate import choose_images, measure_pairs
from gotta.data.readers.ccc_paths import Calibration
from gotta.errors import GottaError


def measured(**changes):
    data = TinyData()
    rows = choose_images(data.labels, 4)
    given = {"corruptions": ("contrast", "brightness"), "severities": (0, 5), **changes}
    return measure_pairs(seeded_net(classes=3), data.pixels[rows], data.labels[rows], rows, **given)


def test_both_orders_of_a_pair_are_measured_and_their_edges_are_the_corruptions_alone():
    found = measured()
    first, second = (np.array(found["accuracy"][pair]) for pair in ("contrast+brightness", "brightness+contrast"))
    assert first.shape == (2, 2)
    assert np.array_equal(first[0], second[:, 0])
    assert np.array_equal(first[:, 0], second[0])
    assert found["images"] == 12
    Calibration(found, "made")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"corruptions": ("contrast",)}, "pairs need two corruptions or more"),
        ({"corruptions": ("contrast", "rain")}, "'rain' is unknown"),
        ({"severities": (1, 5)}, "severities must rise from 0"),
        ({"severities": (0, 0.1)}, "a severity between must be"),
    ],
)
def test_what_cannot_be_measured_is_told(change, told):
    with pytest.raises(GottaError, match=told):
        measured(**change)


def test_the_command_writes_what_the_data_set_reads(tmp_path):
    out = tmp_path / "ccc.json"
    gotta("data", "calibrate", "--corruption", "gaussian_noise,contrast", "--per-class", "1", "--out", out)
    assert set(json.loads(out.read_text())["accuracy"]) == {"gaussian_noise+contrast", "contrast+gaussian_noise"}
    assert Calibration.read(out).severities == [0, 2, 4, 5]
