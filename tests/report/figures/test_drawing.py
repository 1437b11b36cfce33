import pytest

from gotta.report.figures.drawing import OUTLINES, PAPER, STROKES, Line, Shape, marker


@pytest.mark.parametrize("kind", [*STROKES, *OUTLINES, *(f"open {name}" for name in OUTLINES)])
def test_markers_stand_around_their_place_in_their_colour(kind):
    marks = marker(kind, 50, 40, "#123456", 4)
    points = [point for mark in marks for point in mark.points]
    assert max(abs(x - 50) for x, _ in points) <= 8
    assert max(abs(y - 40) for _, y in points) <= 8
    assert marks[0].colour == "#123456"
    assert all(isinstance(mark, Line if kind in STROKES else Shape) for mark in marks)


def test_an_open_marker_has_paper_inside():
    outer, inner = marker("open circle", 0, 0, "#123456")
    assert inner.colour == PAPER
    assert max(x for x, _ in inner.points) < max(x for x, _ in outer.points)
