"""Images are corrupted a piece at a time, which nobody can see."""

import numpy as np
import pytest

from gotta.data.corruptions import _CORRUPTIONS, EXTRA, STANDARD, corrupt


def test_every_name_has_its_corruption():
    assert set(_CORRUPTIONS) == set(STANDARD) | set(EXTRA)


@pytest.mark.parametrize("name", [*STANDARD, *EXTRA])
def test_the_size_of_a_piece_changes_no_pixel(name, monkeypatch):
    images = np.random.default_rng(0).integers(0, 256, (5, 32, 32, 3), np.uint8)
    before, rows = images.copy(), np.array([7, 3, 11, 2, 900])
    whole = corrupt(images, name, 5, seed=1, index=rows)
    monkeypatch.setattr("gotta.data.corruptions._PIXELS_AT_ONCE", 2 * 32 * 32)
    assert np.array_equal(corrupt(images, name, 5, seed=1, index=rows), whole)
    monkeypatch.setattr("gotta.data.corruptions._PIXELS_AT_ONCE", 1)  # never less than an image
    assert np.array_equal(corrupt(images, name, 5, seed=1, index=rows), whole)
    assert np.array_equal(images, before)
    assert whole.dtype == np.uint8
    assert not np.array_equal(whole, images)
