"""Contact sheets: where the pictures are, how they are scaled, and what is written beside them."""

import numpy as np
import pytest
from PIL import Image

from gotta.errors import GottaError
from gotta.show.contact_sheet import (
    FEW,
    MOST_SIDE,
    Row,
    Tile,
    class_colours,
    contact_sheet,
    fit_picture,
    palette,
    shorten,
)

RED, GREEN = (255, 0, 0), (0, 255, 0)


def flat(colour, side=32):
    return np.full((side, side, 3), colour, np.uint8)


def count(path, colour):
    with Image.open(path) as image:
        return int((np.asarray(image) == np.array(colour)).all(-1).sum())


def test_every_tile_is_on_the_sheet(tmp_path):
    rows = [Row("one", [Tile(flat(RED), (0, 0, 9))] * 3), Row("two", [Tile(flat(GREEN), (0, 0, 9))] * 2, "a note")]
    path = contact_sheet(tmp_path / "a.png", "title", "facts", rows)
    assert count(path, RED) == 3 * MOST_SIDE**2
    assert count(path, GREEN) == 2 * MOST_SIDE**2
    assert count(path, (0, 0, 9)) == 5 * ((MOST_SIDE + 6) ** 2 - MOST_SIDE**2)


@pytest.mark.parametrize("side", [32, 64, 96, 224])
@pytest.mark.parametrize("columns", [1, 16, 50])
def test_pictures_of_any_size_fit(tmp_path, side, columns):
    path = contact_sheet(tmp_path / "a.png", "t", "f", [Row("x", [Tile(flat(RED, side), GREEN)] * columns)])
    drawn = (count(path, RED) / columns) ** 0.5
    assert drawn == int(drawn)
    assert drawn <= MOST_SIDE
    assert side > drawn or drawn % side == 0
    with Image.open(path) as image:
        assert image.width <= max(1400, 60 + columns * (32 + 10))


def test_small_pictures_keep_their_pixels_and_others_their_proportions():
    image = np.random.default_rng(0).integers(0, 256, (3, 4, 3), np.uint8)
    assert np.array_equal(np.asarray(fit_picture(image, 9)), image.repeat(2, 0).repeat(2, 1))
    assert fit_picture(np.zeros((100, 200, 3), np.uint8), 50).size == (50, 25)


def test_long_names_are_shortened():
    assert shorten("fog", 200, 13) == "fog"
    short = shorten("a very long name of a class " * 4, 100, 13)
    assert short.endswith("…")
    assert len(short) < 30


def test_colours_are_distinct():
    assert class_colours(10) == list(FEW)
    assert len({tuple(colour) for colour in palette(200)}) == 200


def test_a_path_that_cannot_be_written(tmp_path):
    with pytest.raises(GottaError, match="cannot be written"):
        contact_sheet(tmp_path / "no" / "a.png", "t", "f", [Row("x", [Tile(flat(RED), GREEN)])])
