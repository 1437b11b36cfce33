"""Severities between the published ones."""

import json

import numpy as np
import pytest
from tiny import GOLDEN

from gotta.data.corruptions import corrupt
from gotta.data.corruptions.between import NOTHING, parameters_between
from gotta.errors import GottaError

IMAGES = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3)).astype(np.uint8)


def test_parameters_are_those_of_the_published_generator_of_ccc():
    published = json.loads((GOLDEN / "ccc" / "parameters.json").read_text())
    assert len(published) == 14
    for name, by_severity in published.items():
        for severity, wanted in by_severity.items():
            got = list(parameters_between(name, float(severity), "imagenet"))
            if name == "shot_noise":
                got = [1 / got[0]]
            if name == "zoom_blur":
                got = [1.0, *got]  # where its zooms begin, which never changes
            if name == "frost":
                got = got[:2]  # without the size of the texture, which is ours
            if name == "glass_blur":
                wanted[1] = max(wanted[1], 1)  # as published
            assert got == pytest.approx(wanted, abs=1.1e-3), (name, severity)


@pytest.mark.parametrize("name", sorted(NOTHING))
def test_whole_severities_are_the_usual_ones_and_none_is_the_image_itself(name):
    assert np.array_equal(corrupt(IMAGES, name, 3.0), corrupt(IMAGES, name, 3))
    assert np.array_equal(corrupt(IMAGES, name, 0), IMAGES)
    for table in ("cifar", "imagenet"):
        between = corrupt(IMAGES, name, 0.25, table)
        assert between.shape == IMAGES.shape


def test_an_image_between_severities_does_not_depend_on_its_company():
    both = corrupt(IMAGES, "gaussian_noise", 1.75, index=np.array([4, 9, 2]))
    assert np.array_equal(both[1:2], corrupt(IMAGES[1:2], "gaussian_noise", 1.75, index=np.array([9])))
    spread = [float(np.std(corrupt(np.full_like(IMAGES, 128), "gaussian_noise", s))) for s in (1, 1.5, 2)]
    assert spread == sorted(spread)


@pytest.mark.parametrize("severity", [-0.25, 5.25, 0.1, True, "3", float("nan")])
def test_a_severity_that_is_none_is_refused(severity):
    with pytest.raises(GottaError, match=r"severity must be 1, 2, 3, 4 or 5, or a quarter between 0 and 5 \(got"):
        corrupt(IMAGES, "contrast", severity)


def test_a_corruption_without_anything_between_is_refused():
    with pytest.raises(GottaError, match=r"severity must be 1, 2, 3, 4 or 5, got 1\.5"):
        corrupt(IMAGES, "elastic_transform", 1.5)
