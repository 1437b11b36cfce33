"""Marks that can be read without colour everywhere."""

from made_runs import panel_of
from made_tables import run

from gotta.report.tables.comparison import table
from gotta.report.tables.render import plain


def test_plain_text_is_aligned_and_marked_without_colour():
    runs = [run("none", accuracy=40.0), run("fifo", accuracy=45.0), run("fps", accuracy=60.0)]
    text = plain(table(panel_of(runs)))
    lines = text.splitlines()
    assert lines[0] == "Accuracy (%)"
    assert "fps     60.0*" in lines
    assert "fifo    45.0" in lines
    assert "* best of its column" in text
    assert "Seeds: 0." in text
    assert "Seeds: 0." not in plain(table(panel_of(runs)), details=False)
