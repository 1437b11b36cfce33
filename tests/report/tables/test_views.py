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
    assert [(shown.cell.number, shown.top) for shown in tops] == [("70.0", "★")]  # tent with fps
    assert tops[0].shade == "s8"
    gains = {name: cells[0].shade for name, _, cells in found["none"].rows}
    assert gains["fps"] == "d4"
    assert gains[EVIL].startswith("d-")
    assert found["accuracy"].rows[0][2][1].runs == ("norm-none-0", "norm-none-1")


def test_the_first_table_has_no_empty_rows_and_columns_and_single_numbers_stand_in_a_list():
    unscored = made("none", "sar", summary={"accuracy": None, "online": {"domains": []}})
    runs = [made("none", "source"), made("none"), made("fps"), made("cds", "deskew", method__prior="sticky"), unscored]
    view = views(panel_of(runs))[0]
    assert view.table.columns == ("source", "norm", "sar", "deskew, sticky prior")
    short = view.compact
    assert [name for name, _ in short.alone] == ["the source model", "deskew, sticky prior + cds"]
    assert short.columns == ("norm",)
    assert [name for name, _, _ in short.rows] == ["none", "fps"]
    assert all(shown.cell.value is not None for shown in short.shown)
    assert "n/a" not in short.caption[-1]
    assert "n/a" in view.table.caption[0]


def test_the_star_is_where_the_headline_is_even_if_its_column_has_one_number():
    runs = [made("none", "deskew", (90.0,) * 4, method__prior="sticky"), made("none"), made("fps", scores=(70.0,) * 4)]
    tops = [shown for shown in views(panel_of(runs))[0].compact.shown if shown.top]
    assert sorted((shown.cell.number, shown.top) for shown in tops) == [("70.0", "☆"), ("90.0", "★")]
    (alone,) = [view for view in views(panel_of([made("fps")])) if view.key == "accuracy"]
    assert alone.compact.stars == {""}


def test_a_row_with_one_number_of_many_columns_is_no_row():
    methods = ("norm", "tent", "note")
    runs = [made(memory, method) for method in methods for memory in ("none", "fps")]
    runs += [made("mine"), made("none", control="running_statistics")]
    short = views(panel_of(runs))[0].compact
    assert (short.columns, [name for name, _, _ in short.rows]) == (("norm", "note", "tent"), ["none", "fps"])
    assert [name for name, _ in short.alone] == ["norm + mine"]
    assert [name for name, _ in short.controls] == ["norm, control: running statistics"]
    assert "Controls take" in short.caption[-1]
    two = [run for run in runs if run.spec.method.name != "note"]
    assert len(views(panel_of(two))[0].compact.rows) == 4  # of two columns one is no reason


def test_numbers_that_are_all_single_are_a_list():
    short = views(panel_of([made("none", method) for method in ("source", "norm", "tent")]))[0].compact
    assert [name for name, _ in short.alone] == ["the source model", "norm without a memory", "tent"]
    assert (short.columns, short.rows) == ((), ())
