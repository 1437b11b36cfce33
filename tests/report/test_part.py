"""What is told of one panel."""

from made_runs import made, panel_of

from gotta.report.panel import place
from gotta.report.part import Part


def test_a_part_is_named_by_what_tells_it_from_the_others():
    runs = [made(), made(model__name="other")]
    parts = [Part(panel, number, 2) for number, panel in enumerate(place(runs).panels, 1)]
    assert [(part.anchor, part.title) for part in parts] == [("set-up-1", "other"), ("set-up-2", "resnet20")]
    assert Part(panel_of([made()])).title == ""


def test_everything_is_computed_once():
    part = Part(panel_of([made(), made("none")]))
    for name in ("answer", "views", "beside", "details", "figures", "setup"):
        assert getattr(part, name) is getattr(part, name)
    assert part.table("error") is next(view.table for view in part.views if view.key == "error")
    assert part.table("online.ece").title == "Calibration error (%)"


def test_one_figure_stands_beside_the_table_and_the_others_follow():
    part = Part(panel_of([made(), made("none")]))
    assert part.explaining.kind == "domains"
    assert [figure.kind for figure in part.more_figures] == ["cost", "wins"]
    alone = Part(panel_of([made(scores=(50.0,))]))
    assert (alone.explaining, alone.more_figures) == (None, [])


def test_details_are_of_the_same_panel():
    part = Part(panel_of([made(), made("none", "tent")]))
    assert [table.title for table in part.details] == ["Accuracy (%) per domain", "Memory", "Cost", "Calibration"]
    assert [row.names for row in part.details[0].rows] == [("norm", "fps"), ("tent", "none")]
