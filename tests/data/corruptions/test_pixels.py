import numpy as np
import pytest
from scipy import ndimage

from gotta.data.corruptions import digital, pixels


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_gaussian_filter_is_scipys(rng):
    image = rng.integers(0, 256, (1, 30, 41, 3), dtype=np.uint8)
    exact = ndimage.gaussian_filter(image.astype(float), (0, 1.3, 1.3, 0), mode="nearest", truncate=4)
    np.testing.assert_allclose(pixels.blur(image, pixels.gaussian_weights(1.3)), exact, atol=1e-3)


def test_sampling_is_linear_interpolation(rng):
    plane = rng.random((2, 9, 11)).astype(np.float32)
    y, x = rng.uniform(-30, 40, (2, 2, 9, 11)).astype(np.float32)
    for fold, mode in ((pixels.fold_between_centres, "mirror"), (pixels.fold_between_edges, "reflect")):
        ours = pixels.sample([plane], y, x, fold)[0]
        for one in range(2):
            exact = ndimage.map_coordinates(plane[one], [y[one], x[one]], order=1, mode=mode)
            np.testing.assert_allclose(ours[one], exact, atol=1e-4)


def test_affine_map_sends_moved_corners_back(rng):
    corners = np.array([[26.0, 26], [26, 6], [6, 6]])
    moved = corners + rng.uniform(-2, 2, (4, 3, 2))
    a, b, c = digital._plane(moved, corners)
    for corner in range(3):
        x, y = moved[:, corner, :1], moved[:, corner, 1:]
        np.testing.assert_allclose(a * x + b * y + c, np.tile(corners[corner], (4, 1)))
