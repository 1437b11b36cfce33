"""Contact sheets: named rows of pictures, framed in the colours of their classes; and what all drawings share."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor, ImageDraw, ImageFont

from gotta.errors import GottaError

Pixels = NDArray[np.uint8]  # [H, W, 3]
Rgb = tuple[int, int, int]

INK: Rgb = (30, 30, 30)
FAINT: Rgb = (120, 120, 120)
WIDTH, MARGIN, HEAD, CAPTION, FRAME, GAP = 1400, 16, 62, 14, 3, 4
MOST_LABEL, MOST_SIDE, LEAST_SIDE = 220, 96, 24

# Okabe and Ito's colours, which stay apart for colour-blind readers; yellow darkened, grey and brown added.
NAMED = "#0072b2 #e69f00 #009e73 #cc79a7 #56b4e9 #d55e00 #000000 #beaa00 #787878 #7a4a1e"
FEW = [ImageColor.getrgb(colour) for colour in NAMED.split()]
# Points of the viridis map up to 0.75; its yellow end is too faint on white.
MANY = np.array([[68, 1, 84], [65, 68, 135], [42, 120, 142], [34, 168, 132], [94, 201, 98]], np.float64)


class Tile(NamedTuple):
    """One picture, the colour of its frame, and a word below it."""

    image: Pixels
    colour: Rgb
    caption: str = ""


class Row(NamedTuple):
    """Pictures that belong together, and what they are called in one or two lines."""

    name: str
    tiles: list[Tile]
    note: str = ""


def palette(classes: int) -> NDArray[np.float64]:
    """[C, 3]: distinct colours for up to ten classes, a continuous map for more."""
    if classes <= len(FEW):
        return np.array(FEW[:classes], np.float64)
    at, points = np.linspace(0, 1, classes), np.linspace(0, 1, len(MANY))
    return np.stack([np.interp(at, points, MANY[:, channel]) for channel in range(3)], 1)


def class_colours(classes: int) -> list[Rgb]:
    return [(int(r), int(g), int(b)) for r, g, b in palette(classes).round()]


def contact_sheet(path: str | Path, title: str, facts: str, rows: Sequence[Row]) -> Path:
    """Write a PNG with one line of pictures per row."""
    columns = max(len(row.tiles) for row in rows)
    left = MARGIN + min(MOST_LABEL, max(_width(text) for row in rows for text in (row.name, row.note))) + 10
    side = max(LEAST_SIDE, min(MOST_SIDE, (WIDTH - left - MARGIN) // columns - 2 * FRAME - GAP))
    longest = max(max(tile.image.shape[:2]) for row in rows for tile in row.tiles)
    # A little wider, if that lets small pictures be drawn twice as large.
    side = side if longest > side else max(1, int(1.05 * side / longest)) * longest
    captions = CAPTION if any(tile.caption for row in rows for tile in row.tiles) else 0
    across, down = side + 2 * FRAME + GAP, side + 2 * FRAME + GAP + captions
    width = max(left + columns * across + MARGIN, MARGIN * 2 + int(max(_width(title, 20), _width(facts))))
    picture = Image.new("RGB", (width, HEAD + len(rows) * down + MARGIN), "white")
    pen = ImageDraw.Draw(picture)
    pen.text((MARGIN, 26), title, fill=INK, font=font(20), anchor="ls")
    pen.text((MARGIN, 48), facts, fill=FAINT, font=font(13), anchor="ls")
    for k, row in enumerate(rows):
        top = HEAD + k * down
        _label(pen, row, top, side, left - MARGIN - 10)
        for column, tile in enumerate(row.tiles):
            _place(picture, pen, tile, left + column * across, top, side)
    return save(picture, path)


def save(picture: Image.Image, path: str | Path) -> Path:
    """As a PNG, whatever the name ends in."""
    target = Path(path)
    try:
        picture.save(target, format="PNG")
    except OSError as error:
        raise GottaError(f"the picture cannot be written to {target}: {error.strerror}. Give another path.") from error
    return target


def fit_picture(image: Pixels, side: int) -> Image.Image:
    """Small pictures a whole number of times larger, with sharp pixels; large ones smaller."""
    drawn = Image.fromarray(image)
    longest = max(drawn.size)
    if longest <= side:
        times = side // longest
        return drawn.resize((drawn.width * times, drawn.height * times), Image.Resampling.NEAREST)
    size = [max(1, round(length * side / longest)) for length in drawn.size]
    return drawn.resize((size[0], size[1]), Image.Resampling.LANCZOS)


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    found = ImageFont.load_default(size=size)
    assert isinstance(found, ImageFont.FreeTypeFont)
    return found


def _place(picture: Image.Image, pen: ImageDraw.ImageDraw, tile: Tile, x: int, y: int, side: int) -> None:
    small = fit_picture(tile.image, side)
    pen.rectangle((x, y, x + small.width + 2 * FRAME - 1, y + small.height + 2 * FRAME - 1), fill=tile.colour)
    picture.paste(small, (x + FRAME, y + FRAME))
    if tile.caption:
        middle, below = x + FRAME + small.width / 2, y + small.height + 2 * FRAME + 1
        pen.text((middle, below), _caption(tile.caption, side + 2 * FRAME), fill=INK, font=font(11), anchor="mt")


def _caption(text: str, room: int) -> str:
    """The text; where it is too wide, its first word, which is the number of a class."""
    return text if _width(text, 11) <= room else shorten(text.split()[0], room, 11)


def _label(pen: ImageDraw.ImageDraw, row: Row, top: int, side: int, room: int) -> None:
    middle = top + FRAME + side / 2
    if row.note:
        pen.text((MARGIN, middle + 9), shorten(row.note, room, 13), fill=FAINT, font=font(13), anchor="lm")
        middle -= 9
    pen.text((MARGIN, middle), shorten(row.name, room, 13), fill=INK, font=font(13), anchor="lm")


def _width(text: str, size: int = 13) -> int:
    return int(font(size).getlength(text)) + 1


def shorten(text: str, room: float, size: int) -> str:
    """The text, or its beginning and an ellipsis."""
    if _width(text, size) <= room + 1:
        return text
    while text and _width(text + "…", size) > room:
        text = text[:-1]
    return text + "…"
