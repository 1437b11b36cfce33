"""Drawings as SVG."""

from xml.etree import ElementTree

from gotta.report.figures.drawing import Drawing, Line, Text
from gotta.report.figures.svg import svg


def test_svg_escapes_texts():
    drawing = Drawing(10, 10, 'a "title" <b>', marks=[Text(0, 0, "<b>&"), Line(((0, 0), (1, 1)), dash=(1, 2))])
    root = ElementTree.fromstring(svg(drawing))
    assert [child.text for child in root if child.tag.endswith("text")] == ["<b>&"]
    assert "<style" not in svg(drawing, alone=False)
