"""The figure of errors per visit."""

from made_figures import words
from made_runs import made, panel_of
from report.tables.test_visits import recurring

from gotta.report.figures.scaling import visit_figures


def test_there_is_a_line_for_each_memory_over_the_visits():
    (figure,) = visit_figures(panel_of([recurring(), recurring("cstu"), recurring(seed=1)]))
    assert figure.title == "Error at each visit, norm"
    assert {"fps", "cstu", "visit to all domains", "error in %", "1", "2", "3"} <= set(words(figure))
    assert figure.drawing.words == "cstu goes from 45.0 to 55.0; fps goes from 45.0 to 55.0."


def test_nothing_is_drawn_where_nothing_recurs():
    assert visit_figures(panel_of([made()])) == []
