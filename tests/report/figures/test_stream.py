"""Accuracy and the memory over the stream."""

from made_runs import made
from made_store import write

from gotta.report.figures.drawing import Box, Text
from gotta.report.figures.stream import stream_figures
from gotta.report.results import read_results


def test_names_of_domains_stand_above_the_lines(tmp_path):
    (figure,) = stream_figures(read_results(write(tmp_path, [made("fps"), made("none")])).placed.whole)
    top = min(mark.y for mark in figure.drawing.marks if isinstance(mark, Box))
    names = [mark for mark in figure.drawing.marks if isinstance(mark, Text) and mark.upright]
    assert [mark.text for mark in names] == ["fog-5", "snow-5", "frost-5", "glass blur-5"]
    assert all(mark.y < top for mark in names)
