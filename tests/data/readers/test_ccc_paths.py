"""Paths at constant accuracy."""

import json

import numpy as np
import pytest
from tiny import GOLDEN

from gotta.data.readers.ccc_paths import Calibration, find_path, refine
from gotta.errors import GottaError
from gotta.types import read_pair

GRID = [[90, 60, 30], [60, 40, 20], [30, 20, 10]]
MADE = {
    "table": "cifar",
    "severities": [0, 2, 5],
    "accuracy": {"snow+fog": GRID, "fog+snow": GRID, "contrast+fog": [[90, 80, 70]] * 3},
}


def test_paths_are_those_of_the_published_generator():
    cases = json.loads((GOLDEN / "ccc" / "paths.json").read_text())
    assert len(cases) == 12
    for case in cases:
        found = find_path(np.array(case["accuracy"]), case["baseline"])
        assert [list(point) for point in found] == case["path"]


def test_accuracies_between_measured_severities_are_linear():
    fine = refine(GRID, [0, 2, 5])
    assert fine.shape == (21, 21)
    assert fine[0, 0] == 90
    assert fine[4, 0] == 75  # severity 1, half way from 90 to 60
    assert fine[8, 8] == 40
    assert fine[20, 20] == 10


def test_a_path_leads_from_one_corruption_to_the_other_in_quarters():
    paths = Calibration(MADE).paths(45)
    assert set(paths) == {"snow+fog", "fog+snow"}  # contrast is never as hard as that
    points = [read_pair(name) for name in paths["snow+fog"]]
    assert [name for point in points for name, _ in point] == ["snow", "fog"] * len(points)
    severities = np.array([[first, second] for (_, first), (_, second) in points])
    assert severities[0, 1] == 0
    assert severities[-1, 0] == 0
    steps = np.diff(severities, axis=0)
    assert ((steps[:, 0] <= 0) & (steps[:, 1] >= 0)).all()
    assert np.allclose(np.abs(steps).sum(1), 0.25)


def test_the_bundled_calibration_has_a_path_for_every_pair_near_the_baseline():
    measured = Calibration.read()
    paths = measured.paths(55)
    assert len(paths) >= 20
    for pair, points in paths.items():
        fine = refine(measured.accuracy[pair].tolist(), measured.severities)
        places = [[int(4 * severity) for _, severity in read_pair(point)] for point in points]
        assert abs(np.mean([fine[i, j] for i, j in places]) - 55) < 3, pair


@pytest.mark.parametrize("baseline", [10, 95, True, "hard", float("nan")])
def test_a_baseline_that_no_pair_leads_to_is_told(baseline):
    expected = r"no two corruptions lead there.*percent, at least 30 and below 90|baseline must be a number \(got"
    with pytest.raises(GottaError, match=expected):
        Calibration(MADE).paths(baseline)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"severities": [0, 5, 2]}, "severities must rise from 0 to 5"),
        ({"severities": None}, "is not a calibration"),
        ({"accuracy": {"snow+fog": [[1, 2], [3, 4]]}}, "'snow\\+fog' must be two corruptions with 3 x 3 percentages"),
        ({"accuracy": {"snow+snow": GRID}}, "must be two corruptions"),
        ({"accuracy": {"snow+rain": GRID}}, "must be two corruptions"),
        ({"accuracy": {"snow+fog": [[101] * 3] * 3}}, "must be two corruptions"),
        ({"accuracy": []}, "is not a calibration"),
    ],
)
def test_a_calibration_that_is_none_is_told(tmp_path, change, told):
    (tmp_path / "c.json").write_text(json.dumps({**MADE, **change}))
    with pytest.raises(GottaError, match=told):
        Calibration.read(tmp_path / "c.json")


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "c.json").write_text("{")
    for name in ("c.json", "none.json"):
        with pytest.raises(GottaError, match="is not a calibration"):
            Calibration.read(tmp_path / name)
