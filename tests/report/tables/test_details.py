"""The tables with a line for each method and memory."""

from made_runs import domains_of, made, panel_of
from made_tables import run

from gotta.report.tables.details import (
    domain_table,
    memory_table,
    summary_tables,
)


def test_domains_are_columns_with_the_mean_last():
    found = domain_table(panel_of([run(accuracy=50.0), run(accuracy=52.0, seed=1), run("none", "source", 30.0)]))
    assert found.heading == ("method", "memory")
    assert found.columns == ("fog-5", "snow-5", "mean")
    assert [row.names for row in found.rows] == [("source", "none"), ("norm", "fps")]
    assert [cell.value for cell in found.rows[1].cells] == [41.0, 61.0, 51.0]


def test_a_domain_visited_again_has_its_own_column():
    visits = domains_of((10.0, 20.0, 30.0), ("fog", "snow", "fog"))
    found = domain_table(panel_of([run(summary={"online": {"domains": visits}})]))
    assert found.columns == ("fog", "snow", "fog (visit 2)", "mean")
    assert [cell.value for cell in found.rows[0].cells] == [10.0, 20.0, 30.0, 50.0]


def test_with_imbalanced_classes_their_mean_is_told_as_well():
    rare = run(summary={"online": {"domains": domains_of((10.0, 20.0)), "class_accuracy": 7.5}})
    even = domain_table(panel_of([rare]))
    assert even.columns[-1] == "mean"
    imbalanced = made(summary=rare.stored.summary, stream__class_imbalance=10.0)
    found = domain_table(panel_of([imbalanced]))
    assert found.columns[-1] == "mean over classes"
    assert found.rows[0].cells[-1].value == 7.5


def summary(title, panel):
    """The table of this title, if it has anything to show."""
    return next((table for table in summary_tables(panel) if table.title == title and table.rows), None)


def test_the_state_of_the_memory_cost_and_calibration():
    panel = panel_of([run(), run("none", "source", summary={"buffer": {}})])
    memory = memory_table(panel)
    assert [row.names for row in memory.rows] == [("norm", "fps")]  # the source model has nothing to show
    shown = dict(zip(memory.columns, (cell.number for cell in memory.rows[0].cells), strict=True))
    assert shown["occupancy"] == "1.00"
    assert shown["balance"] == "0.987"
    assert shown["purity"] == "·"
    assert shown["coverage"] == "0.1240"
    cost = summary("Cost", panel)
    shown = dict(zip(cost.columns, (cell.number for cell in cost.rows[1].cells), strict=True))
    assert shown == {
        "predict s": "0.25",
        "observe s": "0.25",
        "adapt s": "0.25",
        "refresh s": "·",
        "forwards": "3",
        "backwards": "1",
        "peak MB": "512",
        "cpu s": "·",  # as of runs of an earlier version
        "run s": "2.0",
    }
    assert len(summary("Calibration", panel).rows) == 2


def test_samples_that_were_held_out_have_a_table_only_where_there_are_any():
    told = {"samples": 24, "accuracy": 75.0, "held_out_samples": 16, "held_out_accuracy": 62.5}
    found = summary("Exposure", panel_of([run(summary={"exposure": told}), run("none", "source")]))
    assert [row.names for row in found.rows] == [("norm", "fps")]
    assert [cell.number for cell in found.rows[0].cells] == ["24", "75.0", "16", "62.5"]
    assert summary("Exposure", panel_of([run()])) is None


def test_foreign_samples_have_a_table_only_where_there_are_any():
    told = {"auc_probability": 81.0, "auc_energy": 79.0, "auc_entropy": 80.0, "h_score": 61.8, "rows_share": 0.25}
    found = summary("Open set", panel_of([run(summary={"open_set": told})]))
    assert [cell.number for cell in found.rows[0].cells] == ["81.0", "79.0", "80.0", "50.0", "61.8", "0.250"]
    assert summary("Open set", panel_of([run()])) is None


def test_the_points_between_two_corruptions_share_a_column():
    names = ("snow-1+fog-0", "snow-0.5+fog-0.5", "snow-0+fog-1", "fog-1+frost-0")
    visits = domains_of((10.0, 20.0, 30.0, 50.0), names)
    found = domain_table(panel_of([run(summary={"online": {"domains": visits}})]))
    assert found.columns == ("snow to fog", "fog to frost", "mean")
    assert [cell.value for cell in found.rows[0].cells] == [20.0, 50.0, 50.0]
