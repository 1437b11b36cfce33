"""Memories against methods, from runs made by hand."""

import pytest
from made_runs import panel_of
from made_tables import cells, row_names, run

from gotta.errors import GottaError
from gotta.report.rows import CONTROLS
from gotta.report.tables import comparison
from gotta.report.tables.render import markdown, plain


def table(runs, *metric):
    return comparison.main_tables(panel_of(runs), *metric)[0]


def test_rows_and_columns_stand_in_the_usual_order():
    memories = ["mine", "fpsd", "cds", "none", "fps", "abc", "fifo", "pbrs", "cstu", "reservoir"]
    methods = ["energy", "zeta", "tent", "note", "source", "norm", "rotta"]
    runs = [run(memory) for memory in memories] + [run("none", method) for method in methods]
    runs += [run("none", control=control) for control in ("new_idea", *reversed(CONTROLS))]
    found = table(runs)
    expected = ["source model", "none", "fifo", "reservoir", "pbrs", "cstu", "cds", "fps", "fpsd", "abc", "mine"]
    assert row_names(found) == [*expected, *(f"control: {name}" for name in [*CONTROLS.values(), "new idea"])]
    assert list(found.columns) == ["norm", "rotta", "note", "tent", "energy", "zeta"]


def test_a_cell_is_the_mean_over_seeds_with_its_interval():
    found = table(
        [run(accuracy=50.0, seconds=1.0), run(accuracy=53.0, seed=1, seconds=2.0), run(accuracy=52.0, seed=2)]
    )
    cell = cells(found)["fps", "norm"]
    assert cell.value == pytest.approx(155 / 3)
    assert cell.interval == pytest.approx(4.302653 * 1.527525 / 3**0.5, rel=1e-5)  # Student, two degrees of freedom
    assert cell.seeds == 3
    assert "| fps | 51.7 ± 3.8 |" in markdown(found)
    assert "± is the 95 % interval over other seeds on these domains" in found.caption[0]


def test_one_seed_has_no_interval():
    found = table([run(accuracy=50.0)])
    assert "| fps | 50.0 |" in markdown(found)
    assert "±" not in markdown(found)
    assert "one seed" in found.caption[0]


def test_fewer_seeds_than_elsewhere_are_said_in_the_cell():
    found = table([run(), run(seed=1), run("fifo", accuracy=40.0)])
    assert "| fifo | <u>40.0</u> n=1 |" in markdown(found)
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
    found = table(runs)
    marks = {row.names[0]: row.cells[0].mark for row in found.rows if row.cells[0].mark}
    assert marks == {"fps": "best", "fifo": "second"}
    assert [row.names[0] for row in found.rows if row.ranked] == ["fifo", "fps"]


def test_a_column_with_one_memory_has_no_winner():
    assert not table([run(), run("none", control="true_kcenter")]).has_marks


def test_the_source_model_is_the_same_in_every_column_whatever_memory_it_ran_with():
    runs = [run("fps", "source", 40.0), run("fifo", "source", 40.0)]
    found = table([*runs, run("none", "norm"), run("fps", "norm"), run("none", "tent")])
    text = markdown(found)
    assert "| source model | 40.0 | 40.0 |" in text
    assert "| fps | **50.0** | · |" in text
    assert "· was not run" in text


def test_statistics_and_priors_stand_in_a_table_of_their_own():
    sticky = {"method__prior": "sticky"}
    runs = [run("none"), run("fps"), run("none", accuracy=70.0, method__statistics="class")]
    runs += [run("none", "deskew", 90.0, method__statistics="class", **sticky), run("none", "source", 60.0, **sticky)]
    memories, others = comparison.main_tables(panel_of(runs))
    assert row_names(memories) == ["none", "fps"]
    assert [(row.names[0], row.cells[0].signs) for row in others.rows] == [
        ("the source model with sticky prior", "»"),
        ("norm + class statistics", ""),
        ("deskew with sticky prior", "»"),
    ]
    assert len(comparison.main_tables(panel_of(runs[2:]))) == 1  # nothing else to set it apart from


def test_a_small_difference_is_a_tie_a_wide_interval_is_none_and_other_steps_are_marked():
    def three(memory, shift, **options):
        return [run(memory, accuracy=60.0 + s * k, seed=k, **options) for k, s in enumerate(shift)]

    near = [*three("fps", (1, 1, 1)), *three("fifo", (1, 0.5, 0.9)), *three("cds", (0, -20, 9))]
    near += three("none", (0, 0, 0), regime__batch_size=64, regime__adapt_every=None)
    signs = {row.names[0]: row.cells[0].signs for row in table([*near]).rows}
    assert signs == {"none": "≠", "fifo": "≈", "cds": "", "fps": ""}


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
