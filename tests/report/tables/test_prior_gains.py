"""The prior stands in columns of its own, and what it adds in a table of its own."""

from made_runs import made, panel_of

from gotta.report.answer import answer
from gotta.report.panel import place
from gotta.report.tables.comparison import table
from gotta.report.tables.details import calibration_table, domain_table
from gotta.report.tables.gains import gain_table, gains
from gotta.report.tables.matrix import matrix_table, win_tie_loss
from gotta.report.tables.prior_gains import prior_table
from gotta.report.tables.views import views

LOW, HIGH = (40.0, 42.0, 44.0, 46.0), (70.0, 72.0, 74.0, 77.0)
STICKY = {"method__prior": "sticky", "method__labels": "filtered", "method__order_in_batch": "time"}


def with_and_without(more=()):
    runs = [made("none"), made("fps"), made("none", scores=HIGH, **STICKY), made("fps", scores=HIGH, **STICKY)]
    return panel_of([*runs, made("none", "source", LOW), made("none", "source", HIGH, **STICKY), *more])


def test_each_prior_is_a_column():
    panel = with_and_without([made("fps", method__prior="ema")])
    assert panel.columns == ("source", "source, sticky prior", "norm", "norm, ema prior", "norm, sticky prior")
    assert panel.rows == ("none", "fps")
    assert panel.priors["norm, sticky prior"] == "sticky"
    assert panel.priors["norm"] == "none"


def test_the_source_with_a_prior_is_not_averaged_with_the_source():
    shown = table(with_and_without())
    values = dict(zip(shown.columns, shown.rows[0].cells, strict=True))
    assert values["source"].number == "43.0"
    assert values["source, sticky prior"].number == "73.2"
    assert shown.rows[1].cells[1].absent == "n/a"


def test_other_settings_stand_before_the_prior():
    rates = [made("fps", method__rate=rate, **extra) for rate in (0.1, 0.2) for extra in ({}, STICKY)]
    assert panel_of(rates).columns == (
        "norm rate=0.1",
        "norm rate=0.1, sticky prior",
        "norm rate=0.2",
        "norm rate=0.2, sticky prior",
    )


def test_batches_without_an_order_are_another_column():
    runs = [made("none", "source", **{**STICKY, "method__order_in_batch": order}) for order in ("time", "none")]
    assert panel_of(runs).columns == ("source, sticky prior", "source, sticky prior per batch")


def test_what_a_prior_is_told_of_clips_makes_no_other_table():
    told = made("none", scores=HIGH, stream__boundaries="told", **STICKY)
    placed = place([made("none", scores=LOW), told, made("none", stream__boundaries="hidden", **STICKY)])
    assert len(placed.panels) == 1
    assert placed.whole.columns == ("norm", "norm, sticky prior", "norm, sticky prior, clips hidden")
    assert prior_table(placed.whole).rows[0].cells[0].number == "+30.2"


def test_a_memory_gains_over_none_under_the_same_prior_only():
    panel = panel_of(
        [made("none", scores=LOW), made("fps", scores=HIGH, **STICKY), made("none", scores=HIGH, **STICKY)]
    )
    found = gains(panel)
    assert list(found) == [("fps", "norm, sticky prior")]
    assert gain_table(panel).notes
    assert not gain_table(panel_of([made("none"), made("fps"), made("cstu", **STICKY)])).notes
    assert found["fps", "norm, sticky prior"].estimate.mean == 0
    assert "73.2" not in str(answer(panel_of([made("none", scores=LOW), made("fps", scores=HIGH, **STICKY)])))


def test_no_game_is_played_across_the_prior():
    _, matrix = win_tie_loss(panel_of([made("none", scores=LOW), made("fps", scores=HIGH, **STICKY)]))
    assert all(found.wins + found.ties + found.losses == 0 for found in matrix.values())


def test_what_the_prior_adds_is_paired_with_the_same_run_without():
    panel = with_and_without([made("cstu", scores=HIGH, **STICKY)])
    shown = prior_table(panel)
    assert shown.columns == ("source, sticky prior", "norm, sticky prior")
    assert [row.names[0] for row in shown.rows] == ["none", "fps"]  # cstu was not run without
    assert [cell.number for cell in shown.rows[0].cells] == ["+30.2", "+20.2"]
    assert prior_table(panel_of([made()])).rows == ()


def test_deskew_is_compared_with_its_statistics_without_the_prior():
    kind = {"method__statistics": "class", "memory__capacity": None}
    runs = [made("none", "norm", LOW, **kind), made("none", "deskew", HIGH, **kind, **STICKY)]
    panel = panel_of([*runs, made("none", "norm", HIGH, memory__capacity=None)])
    assert "deskew, sticky prior" in panel.columns
    shown = prior_table(panel)
    assert (shown.columns, shown.rows[0].cells[0].number) == (("deskew, sticky prior",), "+30.2")


def test_the_best_is_marked_with_and_without_a_prior():
    panel = with_and_without()
    top = next(view for view in views(panel) if view.key == "accuracy")
    starred = {
        column for _, _, cells in top.rows for column, shown in zip(panel.columns, cells, strict=True) if shown.top
    }
    assert starred == {"norm", "norm, sticky prior"}
    marked = {row.names for row in domain_table(panel).rows if row.cells[0].mark == "best"}
    assert ("norm", "none") in marked
    assert ("norm, sticky prior", "none") in marked


def test_every_table_with_a_prior_says_that_the_order_is_used():
    panel, plain = with_and_without(), panel_of([made("none"), made("fps")])
    for make in (table, domain_table, calibration_table, matrix_table, prior_table):
        assert sum("use the order of the samples" in line for line in make(panel).footnotes) == 1
        assert make(plain).footnotes == []
    assert "prior" in [view.key for view in views(panel)]
    assert "prior" not in [view.key for view in views(plain)]
