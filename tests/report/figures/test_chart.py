import itertools

import pytest

from gotta.report.figures.chart import Frame, clip, legend, room, ticks, x_axis
from gotta.report.figures.drawing import Drawing, Text
from gotta.report.figures.palette import styles
from gotta.show.contact_sheet import font


@pytest.mark.parametrize(("low", "high"), [(0, 1), (49.7, 52.3), (-3, 7), (0.001, 0.0013), (0, 150_000)])
def test_ticks_are_inside_even_and_few(low, high):
    found = ticks(low, high)
    assert 2 <= len(found) <= 8
    assert low - 1e-6 <= found[0]
    assert found[-1] <= high + 1e-6
    steps = {round(b - a, 9) for a, b in itertools.pairwise(found)}
    assert len(steps) == 1


def test_a_frame_turns_numbers_into_places():
    frame = Frame(10, 20, 100, 50, (0, 4), (0, 10))
    assert frame.at(0, 0) == (10, 70)
    assert frame.at(4, 10) == (110, 20)
    assert (frame.right, frame.bottom) == (110, 70)
    assert room([1.0, 1.0], least=0.5) == (0.5, 1.5)


def test_long_names_lose_their_middle_only():
    assert clip("short") == "short"
    long = clip("composed " + "x" * 300 + " admit=coin")
    assert len(long) == 64
    assert long.startswith("composed x")
    assert long.endswith("admit=coin")
    assert clip("two\nlines") == "two lines"


def test_a_legend_wraps_within_its_width_and_takes_what_it_says():
    looks = styles({f"memory number {k}": f"memory number {k}" for k in range(8)})
    drawing = Drawing(360, 300, "legend")
    assert legend(drawing, looks, 0) > legend(Drawing(3060, 300, "legend"), looks, 0)
    texts = [mark for mark in drawing.legend if isinstance(mark, Text)]
    assert [text.text for text in texts] == list(looks)
    assert max(text.x for text in texts) < 300


def test_names_on_an_axis_stay_inside_the_drawing():
    drawing = Drawing(100, 50, "")
    x_axis(drawing, Frame(10, 10, 88, 20, (0, 1), (0, 1)), "", [(0.5, "middle"), (1, "1500000")])
    middle, last = [mark for mark in drawing.marks if isinstance(mark, Text) and mark.text]
    assert middle.x == 54
    assert last.x + font(22).getlength("1500000") / 4 <= 100
