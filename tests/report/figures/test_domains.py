"""Accuracy in each domain."""

from made_runs import made, panel_of

from gotta.report.figures.domains import domain_figures, domain_scores
from gotta.report.figures.drawing import Text


def test_a_line_for_each_cell_and_the_mean_at_its_end():
    runs = [made("none", "source"), made("fps", scores=(60.0, 62.0, 64.0, 66.0)), made("none")]
    (figure,) = domain_figures(panel_of(runs))
    assert list(figure.drawing.keys) == ["the source model", "norm without a memory", "norm + fps"]
    assert "norm + fps 63.0 on average" in figure.drawing.words
    names = [mark.text for mark in figure.drawing.marks if isinstance(mark, Text) and mark.upright]
    assert names == ["fog", "snow", "frost", "glass blur", "mean"]  # all of severity 5


def test_scores_are_means_over_seeds():
    runs = (made(scores=(50.0, 60.0), seed=0), made(scores=(52.0, 64.0), seed=1))
    assert domain_scores(runs) == {"fog-5": 51.0, "snow-5": 62.0}


def test_one_domain_or_one_cell_has_nothing_to_show():
    assert domain_figures(panel_of([made(scores=(50.0,)), made("none", scores=(40.0,))])) == []
    assert domain_figures(panel_of([made()])) == []
