import colorsys

import numpy as np
import pytest

from gotta.data.corruptions import digital
from gotta.data.corruptions.draws import Draws


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draws(count=2, name="test", severity=1, seed=0):
    return Draws(seed, name, severity, np.arange(count))


def through_hsv(image, change):
    out = np.empty(image.shape)
    for place in np.ndindex(image.shape[:-1]):
        out[place] = colorsys.hsv_to_rgb(*change(*colorsys.rgb_to_hsv(*(image[place] / 255.0))))
    return out * 255


def test_brightness_and_saturation_are_those_of_hsv(rng):
    image = rng.integers(0, 256, (1, 12, 12, 3), dtype=np.uint8)
    image[0, 0, :3] = [[0, 0, 0], [255, 255, 255], [90, 90, 90]]
    brighter = through_hsv(image, lambda h, s, v: (h, s, min(v + 0.3, 1)))
    assert np.abs(digital.brightness(image, (0.3,), draws(1)) + 0.5 - brighter).max() < 0.51
    for factor, shift in ((2.5, 0.2), (0.3, 0.0)):
        stronger = through_hsv(image, lambda h, s, v, f=factor, d=shift: (h, min(s * f + d, 1), v))
        assert np.abs(digital.saturate(image, (factor, shift), draws(1)) + 0.5 - stronger).max() < 0.51


def test_contrast_keeps_the_mean_of_each_channel(rng):
    image = rng.integers(0, 256, (1, 16, 16, 3), dtype=np.uint8)
    out = digital.contrast(image, (0.4,), draws(1)).astype(float)
    np.testing.assert_allclose(out.mean((1, 2)) + 0.5, image.mean((1, 2)), atol=0.2)
    np.testing.assert_allclose(out.std((1, 2)), 0.4 * image.std((1, 2)), rtol=0.01)


def test_an_elastic_transform_without_reach_is_the_identity(rng):
    image = rng.integers(0, 256, (2, 20, 24, 3), dtype=np.uint8)
    np.testing.assert_array_equal(digital.elastic_transform(image, (0, 0, 0), draws(2)), image)
