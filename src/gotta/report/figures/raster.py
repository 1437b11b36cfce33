"""Drawings as PNG, by Pillow, for places that take no SVG."""

from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from math import hypot

from PIL import Image, ImageColor, ImageDraw

from gotta.report.figures.drawing import LIGHT, PAPER, Box, Drawing, Line, Point, Shape, Text
from gotta.show.contact_sheet import font

SCALE, FINE = 2, 2  # pixels per unit in the file, and how much finer lines are drawn before averaging
ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def png(drawing: Drawing) -> bytes:
    """At twice the size of the SVG, on white."""
    times = SCALE * FINE
    size = round(drawing.width * SCALE), round(drawing.height * SCALE)
    picture = Image.new("RGB", (size[0] * FINE, size[1] * FINE), LIGHT[PAPER])
    pen = ImageDraw.Draw(picture)
    texts = [mark for mark in drawing.all_marks if isinstance(mark, Text)]
    for mark in drawing.all_marks:
        if not isinstance(mark, Text):
            _draw(pen, mark, times)
    picture = picture.reduce(FINE)
    for text in texts:  # after averaging: letters are smoothed by the font itself
        _write(picture, text)
    buffer = BytesIO()
    picture.save(buffer, "PNG")  # in all colours: a palette gave a thin line the colour of another memory
    return buffer.getvalue()


def _draw(pen: ImageDraw.ImageDraw, mark: Line | Box | Shape, times: float) -> None:
    if isinstance(mark, Box):
        corners = [mark.x * times, mark.y * times, (mark.x + mark.width) * times, (mark.y + mark.height) * times]
        border = _rgb(mark.border) if mark.border else None
        pen.rectangle(corners, _rgb(mark.colour, mark.opacity), border, width=round(times))
    elif isinstance(mark, Shape):
        pen.polygon([(x * times, y * times) for x, y in mark.points], _rgb(mark.colour))
    else:
        colour, width = _rgb(mark.colour), max(1, round(mark.width * times))
        for piece in dashes(mark.points, mark.dash):
            pen.line([(x * times, y * times) for x, y in piece], colour, width, joint="curve")


def dashes(points: tuple[Point, ...], pattern: tuple[int, ...]) -> Iterator[list[Point]]:
    """The drawn pieces of a dashed line; without a pattern the whole line."""
    if not pattern:
        yield list(points)
        return
    rest, turn, piece = float(pattern[0]), 0, [points[0]]
    for (x0, y0), (x1, y1) in pairwise(points):
        length, done = hypot(x1 - x0, y1 - y0), 0.0
        while length - done > rest:
            done += rest
            here = (x0 + (x1 - x0) * done / length, y0 + (y1 - y0) * done / length)
            if turn % 2 == 0:
                yield [*piece, here]
            turn, piece = turn + 1, [here]
            rest = float(pattern[turn % len(pattern)])
        rest -= length - done
        piece.append((x1, y1))
    if turn % 2 == 0 and len(piece) > 1:
        yield piece


def _write(picture: Image.Image, mark: Text) -> None:
    letters = font(round(mark.size * SCALE))
    at, colour, anchor = (mark.x * SCALE, mark.y * SCALE), _rgb(mark.colour), ANCHORS[mark.anchor]
    weight = 0.6 if mark.bold else 0
    if not mark.upright:
        ImageDraw.Draw(picture).text(at, mark.text, colour, letters, anchor, stroke_width=weight)
        return
    length, height = int(letters.getlength(mark.text)) + 4, round(mark.size * SCALE * 1.5)
    strip = Image.new("L", (length, height), 0)
    ImageDraw.Draw(strip).text((2, height * 0.7), mark.text, 255, letters, "ls", stroke_width=weight)
    strip = strip.rotate(90, expand=True)
    shift = {"start": length, "middle": length / 2, "end": 0}[mark.anchor]
    picture.paste(Image.new("RGB", strip.size, colour), (round(at[0] - height * 0.7), round(at[1] - shift)), strip)


def _rgb(colour: str, opacity: float = 1.0) -> tuple[int, int, int]:
    found = ImageColor.getrgb(LIGHT.get(colour, colour))[:3]
    paper = ImageColor.getrgb(LIGHT[PAPER])
    mixed = [round(c * opacity + p * (1 - opacity)) for c, p in zip(found, paper, strict=False)]
    return mixed[0], mixed[1], mixed[2]
