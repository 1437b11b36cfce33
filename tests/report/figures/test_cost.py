"""Cost against accuracy."""

from gotta.report.figures.chart import Frame
from gotta.report.figures.cost import _label, _meet, front


def test_a_label_goes_where_it_hides_nothing():
    frame = Frame(0, 0, 400, 300, (0, 1), (0, 1))
    free, _ = _label("norm + fps", 100, 100, frame, [])
    other = (105, 80, 180, 96)
    moved, box = _label("norm + fps", 100, 100, frame, [other])
    assert (free.x, free.y) != (moved.x, moved.y)
    assert not _meet(box, other)


def test_the_front_is_what_nothing_is_both_quicker_and_better_than():
    points = [(1.0, 50.0, "a", "x"), (1.0, 40.0, "a", "y"), (2.0, 50.0, "a", "z"), (3.0, 51.0, "b", "x")]
    assert front(points) == [points[0], points[3]]
