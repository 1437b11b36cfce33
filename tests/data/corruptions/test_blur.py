import numpy as np
import pytest
from scipy import ndimage

from gotta.data.corruptions import blur
from gotta.data.corruptions.draws import Draws


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draws(count=2, name="test", severity=1, seed=0):
    return Draws(seed, name, severity, np.arange(count))


def naive_glass(image, down, right, reach):
    image = image.copy()
    height, width = image.shape[:2]
    for y in range(height - reach, reach, -1):
        for x in range(width - reach, reach, -1):
            image[y, x] = image[y + down[y, x], x + right[y, x]]
    return image


@pytest.mark.parametrize("reach", [1, 2, 4])
def test_glass_takes_pixels_as_the_loop_does(reach, rng):
    images = rng.integers(0, 256, (3, 20, 27, 3), dtype=np.uint8)
    down, right = rng.integers(-reach, reach, (2, 3, 20, 27))
    source = blur._trace_sources(down, right, reach)
    fast = images.reshape(-1, 3)[source].reshape(images.shape)
    for one in range(3):
        np.testing.assert_array_equal(fast[one], naive_glass(images[one], down[one], right[one], reach))


def test_streak_of_a_point_is_a_one_sided_gaussian():
    image = np.zeros((1, 21, 21), np.uint8)
    image[0, 10, 10] = 255
    weights = np.exp(-0.5 * (np.arange(9) / 2) ** 2)
    flat = blur.streak(image, 4, 2, np.zeros(1, np.float32))[0]
    np.testing.assert_array_equal(flat[10, 2:11][::-1], (255 * weights / weights.sum()).astype(np.uint8))
    assert flat.sum() == flat[10].sum()
    steep = blur.streak(image, 4, 2, np.full(1, -90, np.float32))[0]
    np.testing.assert_array_equal(steep[10:19, 10], flat[10, 2:11][::-1])


def test_streak_repeats_the_border(rng):
    image = np.repeat(rng.integers(0, 256, (1, 16, 1, 3), dtype=np.uint8), 16, axis=2)
    np.testing.assert_array_equal(blur.streak(image, 9, 2.5, np.zeros(1, np.float32)), image)


@pytest.mark.parametrize("shape", [(32, 32), (20, 47), (64, 64)])
def test_zoom_blur_is_the_mean_of_zoomed_copies(shape, rng):
    image = rng.integers(0, 256, (*shape, 3), dtype=np.uint8)
    total, factors = image.astype(float), np.arange(1, 1.26, 0.01)
    for factor in factors:
        crop = [int(np.ceil(side / factor)) for side in shape]
        top, left = ((side - part) // 2 for side, part in zip(shape, crop, strict=True))
        zoomed = ndimage.zoom(
            image[top : top + crop[0], left : left + crop[1]].astype(float), (factor, factor, 1), order=1
        )
        down, right = ((size - side) // 2 for size, side in zip(zoomed.shape, shape, strict=False))
        total += zoomed[down : down + shape[0], right : right + shape[1]]
    ours = blur.zoom_blur(image[None], (1.26, 0.01), draws(1))[0]
    exact = total / (len(factors) + 1)
    assert np.abs(ours + 0.5 - exact).max() < 0.6


@pytest.mark.parametrize("parameters", [(1.5, 0.1), (3, 0.1), (10, 0.5)])
def test_defocus_is_a_correlation_that_mirrors_the_border(parameters, rng):
    image = rng.integers(0, 256, (40, 33, 3), dtype=np.uint8)
    kernel = blur.disk(*parameters)
    assert abs(kernel.sum() - 1) < 0.06  # the rim of a large disk is softened on a grid too small for all of it
    exact = ndimage.correlate(image.astype(float), kernel[..., None], mode="mirror")
    ours = blur.defocus_blur(image[None], parameters, draws(1))[0]
    assert np.abs(ours + 0.5 - np.clip(exact, 0, 255)).max() < 0.51
