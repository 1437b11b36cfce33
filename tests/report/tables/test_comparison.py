"""Memories against methods, from runs made by hand."""

import pytest
from made_runs import panel_of
from made_tables import cells, row_names, run

from gotta.errors import GottaError
from gotta.report.panel import CONTROLS
from gotta.report.tables import comparison
from gotta.report.tables.render import markdown, plain


def table(runs, *metric):
    return comparison.table(panel_of(runs), *metric)


def test_rows_and_columns_stand_in_the_usual_order():
    memories = ["mine", "fpsd", "cds", "none", "fps", "abc", "fifo", "pbrs", "cstu", "reservoir"]
    methods = ["energy", "zeta", "tent", "note", "source", "norm", "rotta"]
    runs = [run(memory) for memory in memories] + [run("none", method) for method in methods]
    runs += [run("none", control=control) for control in ("new_idea", *reversed(CONTROLS))]
    found = table(runs)
    expected = ["none", "fifo", "reservoir", "pbrs", "cstu", "cds", "fps", "fpsd", "abc", "mine", *CONTROLS.values()]
    assert row_names(found) == [*expected, "control: new idea"]
    assert list(found.columns) == ["source", "norm", "rotta", "note", "tent", "energy", "zeta"]


def test_a_cell_is_the_mean_over_seeds_with_its_interval():
    found = table(
        [run(accuracy=50.0, seconds=1.0), run(accuracy=53.0, seed=1, seconds=2.0), run(accuracy=52.0, seed=2)]
    )
    cell = cells(found)["fps", "norm"]
    assert cell.value == pytest.approx(155 / 3)
    assert cell.interval == pytest.approx(4.302653 * 1.527525 / 3**0.5, rel=1e-5)  # Student, two degrees of freedom
    assert cell.seeds == 3
    assert cell.seconds == pytest.approx(5 / 3)
    assert "| fps | 51.7 ± 3.8 (1.7 s) |" in markdown(found)
    assert "± covers other seeds on these domains at 95 % (Student's t, 3 seeds)" in found.caption[0]


def test_one_seed_has_no_interval():
    found = table([run(accuracy=50.0)])
    assert "| fps | 50.0 (2.0 s) |" in markdown(found)
    assert "±" not in markdown(found)
    assert "one seed" in found.caption[0]


def test_fewer_seeds_than_elsewhere_are_said_in_the_cell():
    found = table([run(), run(seed=1), run("fifo", accuracy=40.0)])
    assert "| fifo | <u>40.0</u> (n=1, 2.0 s) |" in markdown(found)
    assert "fewer seeds where n= says so" in found.caption[0]


def test_best_and_second_are_marked_by_what_is_shown():
    values = {"none": 50.04, "fifo": 60.01, "reservoir": 60.04, "cds": 55.0, "fps": 54.96}
    found = table([run(memory, accuracy=value) for memory, value in values.items()])
    marks = {name: cell.mark for (name, _), cell in cells(found).items()}
    assert marks == {"none": "", "fifo": "best", "reservoir": "best", "cds": "second", "fps": "second"}
    text = markdown(found)
    assert text.count("**60.0**") == 2
    assert text.count("<u>55.0</u>") == 2


def test_lower_is_better_for_error_and_seconds():
    runs = [
        run("none", accuracy=50.0, seconds=9.0),
        run("fps", accuracy=60.0, seconds=1.0),
        run("fifo", accuracy=40.0, seconds=5.0),
    ]
    errors = {name: cell.mark for (name, _), cell in cells(table(runs, "error")).items()}
    assert errors == {"none": "second", "fps": "best", "fifo": ""}
    seconds = cells(table(runs, "seconds"))
    assert {name: cell.mark for (name, _), cell in seconds.items()} == {"none": "", "fps": "best", "fifo": "second"}
    assert "| fps | **1.0** |" in markdown(table(runs, "seconds"))


def test_controls_and_source_are_not_ranked():
    runs = [run("none", "source", 99.0), run("fifo", accuracy=40.0), run("fps", accuracy=60.0)]
    runs += [run("none", control=control, accuracy=90.0) for control in CONTROLS]
    found = cells(table(runs))
    assert found["none", "source"].mark == ""
    assert all(found[control, "norm"].mark == "" for control in CONTROLS.values())
    assert found["fps", "norm"].mark == "best"
    assert found["fifo", "norm"].mark == "second"


def test_a_column_with_one_memory_has_no_winner():
    assert not table([run(), run("none", control="true_kcenter")]).has_marks


def test_missing_cells_and_cells_without_sense():
    found = table([run("none", "source", 40.0), run("none", "norm"), run("fps", "norm"), run("none", "tent")])
    text = markdown(found)
    assert "| fps | n/a | **50.0** (2.0 s) | · |" in text
    assert "· was not run" in text
    assert "n/a: a memory cannot change the source model" in text


def test_the_source_model_has_one_cell_whatever_memory_it_ran_with():
    found = table([run("fps", "source", 40.0), run("fifo", "source", 40.0), run("fps", "norm")])
    assert row_names(found) == ["none", "fps"]
    assert cells(found)["none", "source"].value == 40.0
    assert cells(found)["none", "source"].seeds == 1


def test_a_run_without_the_number_is_missing():
    found = table([run(accuracy=50.0), run("fifo", summary={"accuracy": None})])
    assert cells(found)["fifo", "norm"].number == "·"


def test_no_runs_make_an_empty_table():
    found = table([])
    assert found.rows == ()
    for text in (markdown(found), plain(found)):
        assert "There are no finished runs." in text


def test_unknown_metrics_are_named():
    with pytest.raises(GottaError, match="Did you mean 'accuracy'"):
        table([run()], "acuracy")
