"""The fast forms inside the corruptions against slow, obvious ones."""

import colorsys

import numpy as np
import pytest
from scipy import ndimage, stats

from gotta.data.corruptions import EXTRA, STANDARD, blur, digital, noise, pixels, spatter, textures, weather
from gotta.data.corruptions.draws import Draws


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draws(count=2, name="test", severity=1, seed=0):
    return Draws(seed, name, severity, np.arange(count))


def test_every_name_severity_and_index_has_its_own_numbers():
    first = {
        tuple(Draws(0, name, severity, np.array([index])).words(4)[0])
        for name in STANDARD + EXTRA
        for severity in (1, 5)
        for index in (0, 1, 2**40)
    }
    assert len(first) == 19 * 2 * 3


def test_calls_draw_from_separate_parts_of_a_stream():
    one = draws()
    assert not np.array_equal(one.uniform(8), one.uniform(8))
    assert set(np.unique(one.below(6, 4000))) == set(range(6))
    assert abs(one.normal(5000).std() - 1) < 0.05


def test_noise_tables_are_the_published_formulas(rng):
    """Each row of the table against a simulation of the formula for one value."""
    count, value = 200_000, 60
    x = np.full(count, value) / 255.0
    formulas = {
        ("gaussian", 0.1): x + rng.normal(size=count, scale=0.1),
        ("speckle", 0.6): x + x * rng.normal(size=count, scale=0.6),
        ("shot", 5): rng.poisson(x * 5) / 5,
    }
    for (kind, strength), simulated in formulas.items():
        seen = np.bincount((np.clip(simulated, 0, 1) * 255).astype(np.uint8), minlength=256) / count
        np.testing.assert_allclose(noise._table(kind, strength)[value], seen, atol=0.004)
    impulse = noise._table("impulse", 0.27)[value]
    np.testing.assert_allclose(impulse[[0, value, 255]], [0.135, 0.73, 0.135])


@pytest.mark.parametrize(("kind", "strength"), [("gaussian", 0.1), ("shot", 500), ("impulse", 0.07), ("speckle", 0.2)])
def test_alias_tables_keep_the_probabilities(kind, strength):
    table = noise._table(kind, strength)
    np.testing.assert_allclose(table.sum(1), 1)
    threshold, other = noise._alias(table)
    keep = threshold.reshape(256, 256) / 2**24
    back = keep / 256
    for row, alias in enumerate(other.reshape(256, 256)):
        np.add.at(back[row], alias, (1 - keep[row]) / 256)
    np.testing.assert_allclose(back, table, atol=1e-7)


def test_noise_reaches_every_value_independently():
    images = np.full((1, 64, 64, 3), 100, np.uint8)
    out = noise.gaussian_noise(images, (0.1,), draws(1)).astype(float)
    assert abs(np.corrcoef(out[0, ..., 0].ravel(), out[0, ..., 1].ravel())[0, 1]) < 0.06
    assert stats.kstest((out.ravel() + 0.5 - 100) / 25.5, "norm").statistic < 0.02


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


def test_gaussian_filter_is_scipys(rng):
    image = rng.integers(0, 256, (1, 30, 41, 3), dtype=np.uint8)
    exact = ndimage.gaussian_filter(image.astype(float), (0, 1.3, 1.3, 0), mode="nearest", truncate=4)
    np.testing.assert_allclose(pixels.blur(image, pixels.gaussian_weights(1.3)), exact, atol=1e-3)


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


def test_an_elastic_transform_without_reach_is_the_identity(rng):
    image = rng.integers(0, 256, (2, 20, 24, 3), dtype=np.uint8)
    np.testing.assert_array_equal(digital.elastic_transform(image, (0, 0, 0), draws(2)), image)


def test_plasma_is_smoother_with_more_decay():
    rough, smooth = (weather.plasma(32, decay, draws(20)) for decay in (1.2, 3.0))
    assert (rough.min((1, 2)) == 0).all()
    assert (rough.max((1, 2)) == 1).all()
    assert np.abs(np.diff(rough, axis=1)).mean() > 2 * np.abs(np.diff(smooth, axis=1)).mean()


def naive_plasma(side, decay, waiting):
    heights, step, range_ = np.zeros((side, side)), side, 1.0
    while step >= 2:
        half = step // 2
        for y in range(0, side, step):
            for x in range(0, side, step):
                corners = sum(heights[(y + i) % side, (x + j) % side] for i in (0, step) for j in (0, step))
                heights[y + half, x + half] = corners / 4 + range_ * waiting[y + half, x + half]
        for y in range(0, side, half):
            for x in range(half if y % step == 0 else 0, side, step):
                around = [(y - half, x), (y + half, x), (y, x - half), (y, x + half)]
                heights[y, x] = sum(heights[i % side, j % side] for i, j in around) / 4 + range_ * waiting[y, x]
        step, range_ = half, range_ / decay**2
    heights -= heights.min()
    return heights / heights.max()


def test_plasma_is_diamond_square():
    waiting = draws(1).uniform(16, 16)[0] * 2.0 - 1
    np.testing.assert_allclose(weather.plasma(16, 1.5, draws(1))[0], naive_plasma(16, 1.5, waiting), atol=1e-5)


def test_distance_is_the_shortest_way_in_moves(rng):
    edges = rng.random((2, 18, 23)) < 0.01
    edges[0] = False
    ours = spatter._distance_to(edges)
    assert (ours[0] == 20).all()
    y, x = np.indices(edges.shape[1:])
    best = np.full(edges.shape[1:], 20.0)
    for i, j in np.argwhere(edges[1]):
        near, far = np.sort([np.abs(y - i), np.abs(x - j)], axis=0)
        knights = np.where(
            far >= 2 * near, (far - 2 * near) + 2.1969 * near, 2.1969 * (far - near) + 1.4 * (2 * near - far)
        )
        best = np.minimum(best, knights)
    np.testing.assert_allclose(ours[1], best, atol=1e-4)


def test_edges_surround_a_square():
    grey = np.zeros((1, 20, 20), np.uint8)
    grey[0, 6:14, 6:14] = 200
    edges = spatter._edges(grey)[0]
    assert edges.any()
    assert not edges[8:12, 8:12].any()
    assert not edges[:4].any()
    assert edges[8:12].sum(1).tolist() == [2] * 4


def test_textures_are_periodic_and_of_ice():
    full = textures.full_textures()
    assert len(full) == 5
    for one in full:
        step = np.abs(np.diff(one.astype(int), axis=0)).mean()
        seam = np.abs(one[0].astype(int) - one[-1]).mean()
        assert seam < 1.5 * step
        red, _, blue = one.reshape(-1, 3).mean(0)
        assert blue > red
    assert textures.frost_textures(0.2, 32, 32)[0].shape == (150, 200, 3)
    assert textures.frost_textures(0.2, 300, 300)[0].shape[0] > 300
