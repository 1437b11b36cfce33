"""Marks that can be read without colour everywhere."""

from io import StringIO

from made_runs import panel_of
from made_tables import run
from rich.console import Console

from gotta.report.tables.comparison import table
from gotta.report.tables.render import plain, rich_table


def printed(runs, width):
    output = StringIO()
    Console(file=output, width=width, no_color=True).print(rich_table(table(panel_of(runs))))
    return output.getvalue()


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


def test_rich_shows_the_same_marks_without_colour():
    text = printed([run("none", accuracy=40.0), run("fps", accuracy=60.0), run("[red]", accuracy=30.0)], width=200)
    assert "60.0*" in text
    assert "[red]" in text  # a name is never markup
    assert "Seeds: 0." in text


def test_a_narrow_terminal_cuts_no_number():
    methods = ["norm", "rotta", "note", "sar", "tent"]
    runs = [run("fps", method, 51.5, seed) for method in methods for seed in (0, 1)]
    assert printed(runs, width=60).count("51.5") == 5
