"""Drawings as pixels."""

from io import BytesIO

from PIL import Image, ImageColor

from gotta.report.figures.drawing import Drawing, Line
from gotta.report.figures.palette import style
from gotta.report.figures.raster import dashes, png


def test_a_thin_line_among_many_keeps_its_colour():
    drawing = Drawing(200, 100, "lines")
    for k, name in enumerate(["cds"] * 40 + ["fps"]):
        drawing.add(Line(((0, 2 * k + 1), (200, 2 * k + 1)), style(name).colour, 1))
    colours = {colour for _, colour in Image.open(BytesIO(png(drawing))).convert("RGB").getcolors(1 << 16)}
    assert ImageColor.getrgb(style("fps").colour) in colours
    assert ImageColor.getrgb(style("cds").colour) in colours


def test_dashes_are_cut_along_a_line():
    pieces = list(dashes(((0, 0), (10, 0)), (3, 2)))
    assert pieces == [[(0, 0), (3, 0)], [(5, 0), (8, 0)]]
