"""Each memory can be told without colour."""

from gotta.report.figures.drawing import marker
from gotta.report.figures.palette import KNOWN, OTHERS, styles


def test_rows_of_one_memory_never_look_like_another_memory_in_black_and_white():
    looks = styles(dict.fromkeys(range(12), "composed"))
    without_colour = [(look.dash, look.marker) for look in looks.values()]
    assert len(set(without_colour)) == 12
    own = {(look.dash, look.marker) for look in (*KNOWN.values(), *OTHERS)} - {without_colour[0]}
    assert not own & set(without_colour)


def test_styles_can_be_told_without_colour():
    looks = [(look.dash, look.marker) for look in KNOWN.values()]
    assert len(set(looks)) == len(looks)
    alone = [look.marker for look in (*KNOWN.values(), *OTHERS)]  # points of the cost figure have no line
    assert len(set(alone)) == len(alone)
    drawn = {tuple((type(part), part.points) for part in marker(name, 0, 0, "black")) for name in alone}
    assert len(drawn) == len(alone)
    two = styles({1: "fps", 2: "fps"})
    first, second = two.values()
    assert first.colour == second.colour == KNOWN["fps"].colour
    assert first[1:] != second[1:]
