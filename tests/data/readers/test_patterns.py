"""Images that show no object."""

import numpy as np
import pytest

from gotta.data.readers.patterns import KINDS, make_patterns, scramble
from gotta.errors import GottaError


def test_patterns_are_the_same_for_a_seed_and_an_image_does_not_depend_on_how_many_there_are():
    images, kind = make_patterns(12, 16, 0)
    assert images.shape == (12, 16, 16, 3)
    assert images.dtype == np.uint8
    assert kind.tolist() == [at % len(KINDS) for at in range(12)]
    assert np.array_equal(make_patterns(20, 16, 0)[0][:12], images)
    assert not np.array_equal(make_patterns(12, 16, 1)[0], images)
    assert len({image.tobytes() for image in images}) == 12


@pytest.mark.parametrize(("number", "side"), [(0, 32), (5, 4)])
def test_patterns_of_no_number_or_size_are_refused(number, side):
    with pytest.raises(GottaError, match=rf"must be a whole number of at least [18] \(got ({number}|{side})\)"):
        make_patterns(number, side)


def test_scrambled_images_keep_their_tiles_and_lose_their_order():
    images = np.arange(3 * 8 * 8 * 3).reshape(3, 8, 8, 3).astype(np.uint8)
    mixed = scramble(images, 0)
    assert np.array_equal(scramble(images, 0), mixed)
    for before, after in zip(images, mixed, strict=True):
        tiles = [
            {whole[y : y + 2, x : x + 2].tobytes() for y in range(0, 8, 2) for x in range(0, 8, 2)}
            for whole in (before, after)
        ]
        assert tiles[0] == tiles[1]
        assert not np.array_equal(before, after)
    with pytest.raises(GottaError, match="images of 10 x 8 pixels cannot be cut into 4 x 4 tiles"):
        scramble(np.zeros((1, 10, 8, 3), np.uint8))
