"""Properties that hold for every corruption, with both tables."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gotta.data.corruptions import EXTRA, SEVERITIES, STANDARD, TABLES, corrupt
from gotta.errors import GottaError

GOLDEN = Path(__file__).parents[2] / "golden" / "corruptions"
ALL = STANDARD + EXTRA
NO_RANDOMNESS = {
    "defocus_blur",
    "zoom_blur",
    "brightness",
    "contrast",
    "pixelate",
    "jpeg_compression",
    "gaussian_blur",
    "saturate",
}
RANDOM = [name for name in ALL if name not in NO_RANDOMNESS]


@pytest.fixture(scope="module")
def photographs():
    with np.load(GOLDEN / "cifar_c_exact.npz", allow_pickle=False) as file:
        return file["clean"]


def resized(photographs, height, width):
    return np.stack([np.asarray(Image.fromarray(p).resize((width, height))) for p in photographs])


def distance(a, b):
    return np.abs(a.astype(float) - b).mean()


def test_names_are_the_canonical_ones():
    assert len(STANDARD) == 15
    assert len(EXTRA) == 4
    assert STANDARD[0] == "gaussian_noise"
    assert STANDARD[-1] == "jpeg_compression"
    for table in TABLES.values():
        assert set(table) == set(ALL)
        assert {len(rows) for rows in table.values()} == {5}


@pytest.mark.parametrize("name", ALL)
def test_any_order_and_any_split_give_the_same_pixels(name, photographs):
    images = np.concatenate([photographs] * 5)  # 80 images, more than are corrupted at once
    whole = corrupt(images, name, 5, seed=3)
    order = np.random.default_rng(0).permutation(len(images))
    np.testing.assert_array_equal(corrupt(images[order], name, 5, seed=3, index=order), whole[order])
    for one in (0, 7, 79):
        np.testing.assert_array_equal(corrupt(images[one : one + 1], name, 5, seed=3, index=[one])[0], whole[one])
    pieces = [corrupt(images[s : s + 27], name, 5, seed=3, index=np.arange(s, min(s + 27, 80))) for s in (0, 27, 54)]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


@pytest.mark.parametrize("name", ALL)
def test_a_large_image_does_not_depend_on_its_batch(name, photographs):
    images = resized(photographs[:3], 70, 90)
    whole = corrupt(images, name, 4, table="imagenet")
    np.testing.assert_array_equal(corrupt(images[2:], name, 4, table="imagenet", index=[2]), whole[2:])


@pytest.mark.parametrize("name", RANDOM)
def test_seed_and_index_and_severity_choose_the_random_numbers(name, photographs):
    same = np.repeat(photographs[:1], 3, axis=0)
    out = corrupt(same, name, 3)
    assert not np.array_equal(out[0], out[1])
    assert not np.array_equal(out[1], out[2])
    assert not np.array_equal(out, corrupt(same, name, 3, seed=1))
    np.testing.assert_array_equal(corrupt(same, name, 3), out)


@pytest.mark.parametrize("name", sorted(NO_RANDOMNESS))
def test_corruptions_without_randomness_ignore_the_seed(name, photographs):
    np.testing.assert_array_equal(corrupt(photographs, name, 3), corrupt(photographs, name, 3, seed=9))


@pytest.mark.parametrize("table", sorted(TABLES))
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("height", "width"), [(32, 32), (64, 64), (24, 47), (61, 8)])
def test_every_size_table_and_severity(name, table, height, width, photographs):
    images = resized(photographs[:2], height, width)
    before = images.copy()
    for severity in SEVERITIES:
        out = corrupt(images, name, severity, table)
        assert out.shape == images.shape
        assert out.dtype == np.uint8
        # The mildest glass blur and compression still change pixels; nothing turns an image into a constant.
        assert not np.array_equal(out, images)
        assert out.max() > out.min()
    np.testing.assert_array_equal(images, before)


@pytest.mark.parametrize("name", ALL)
def test_full_size_images(name, photographs):
    images = resized(photographs[:1], 224, 224)
    for table, severity in (("imagenet", 1), ("imagenet", 5), ("cifar", 3)):
        out = corrupt(images, name, severity, table)
        assert out.shape == images.shape
        assert 0 < distance(out, images) < 160


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_full_size_images_every_severity(name, photographs):
    images = resized(photographs[:1], 224, 224)
    for table in TABLES:
        for severity in SEVERITIES:
            assert 0 < distance(corrupt(images, name, severity, table), images) < 160


def test_an_image_larger_than_the_textures_of_ice():
    images = np.full((1, 180, 400, 3), 100, np.uint8)
    assert corrupt(images, "frost", 3, table="cifar").std() > 5


# The published severities do not distort more and more for elastic_transform (milder warps, finer waves), glass_blur
# (blur against rounds), frost (less image, more ice), saturate and spatter (two kinds each), motion_blur of CIFAR (3
# and 4 are alike) and snow of ImageNet (2 to 4 are alike).
NOT_MONOTONE = {"elastic_transform", "glass_blur", "frost", "saturate", "spatter", "motion_blur"}
MONOTONE = [(name, table) for name in ALL if name not in NOT_MONOTONE for table in sorted(TABLES)]
MONOTONE.remove(("snow", "imagenet"))


@pytest.mark.parametrize(("name", "table"), MONOTONE)
def test_distortion_grows_with_severity(name, table, photographs):
    size = 32 if table == "cifar" else 96
    images = resized(photographs, size, size)
    grown = [distance(corrupt(images, name, severity, table), images) for severity in SEVERITIES]
    assert grown == sorted(grown)
    assert grown[4] > 1.2 * grown[0]


def test_tables_differ(photographs):
    for name in ALL:
        assert not np.array_equal(corrupt(photographs, name, 5, "cifar"), corrupt(photographs, name, 5, "imagenet"))


def test_strided_and_read_only_input(photographs):
    images = photographs[::2, :, ::-1]
    images.flags.writeable = False
    for name in ALL:
        np.testing.assert_array_equal(corrupt(images, name, 4), corrupt(images.copy(), name, 4))


@pytest.mark.parametrize("level", [0, 255])
def test_black_and_white_images(level):
    images = np.full((2, 32, 32, 3), level, np.uint8)
    for name in ALL:
        for severity in SEVERITIES:
            assert corrupt(images, name, severity).shape == images.shape


GOOD = np.zeros((2, 32, 32, 3), np.uint8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "gausian_noise"}, "Did you mean 'gaussian_noise'"),
        ({"severity": -1}, "severity must be 1, 2, 3, 4 or 5.*got -1"),
        ({"severity": 6}, "got 6"),
        ({"severity": 2.3}, "got 2.3"),
        ({"severity": True}, "got True"),
        ({"table": "imagenett"}, "Did you mean 'imagenet'"),
        ({"images": GOOD / 255.0}, "multiplied by 255"),
        ({"images": GOOD[0]}, r"shape \[32, 32, 3\]. Expected .*with N at least 1"),
        ({"images": GOOD.transpose(0, 3, 1, 2)}, r"shape \[2, 3, 32, 32\]"),
        ({"images": GOOD[:0]}, "with N at least 1"),
        ({"images": GOOD[:, :4]}, "H and W at least 8"),
        ({"images": GOOD.tolist()}, "are a list"),
        ({"index": [1, 2, 3]}, "each of the 2 images"),
        ({"index": [0.5, 1.5]}, "whole numbers"),
        ({"index": [-1, 1]}, "from 0 up"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_mistakes_are_named(arguments, message):
    with pytest.raises(GottaError, match=message):
        corrupt(**({"images": GOOD, "name": "fog", "severity": 1} | arguments))
