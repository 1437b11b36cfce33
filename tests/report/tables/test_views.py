"""The readings of the main table."""

from made_runs import made, panel_of
from made_store import EVIL, many_runs

from gotta.report.tables.views import views


def test_cells_that_show_the_same_number_lead_together():
    runs = [made("fps"), made("none", scores=(53.0,) * 4), made("fps", "tent", (53.04,) * 4), made("none", "tent")]
    tops = [shown.cell.value for _, _, cells in views(panel_of(runs))[0].rows for shown in cells if shown.top]
    assert sorted(tops) == [53.0, 53.0, 53.0, 53.04]


def test_views_mark_and_shade():
    found = {view.key: view for view in views(panel_of(many_runs()))}
    assert list(found) == ["accuracy", "error", "none", "running_statistics", "seconds"]
    tops = [shown for _, _, cells in found["accuracy"].rows for shown in cells if shown.top]
    assert [shown.cell.number for shown in tops] == ["70.0"]  # tent with fps
    assert tops[0].shade == "s8"
    gains = {name: cells[0].shade for name, _, cells in found["none"].rows}
    assert gains["fps"] == "d4"
    assert gains[EVIL].startswith("d-")
    assert found["accuracy"].rows[0][2][1].runs == ("norm-none-0", "norm-none-1")
