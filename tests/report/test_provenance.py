"""Runs that were made from different things are kept apart, never averaged, and the table says so."""

from dataclasses import replace

import pytest
from made_runs import made, panel_of, stored

from gotta.report.pairs import difference
from gotta.report.panel import place
from gotta.report.results import read_results
from gotta.report.store.changes import find_changes
from gotta.report.stored_run import Run, list_origins
from gotta.report.tables.captions import origin_lines, setup_lines
from gotta.report.tables.comparison import table
from gotta.report.write import report_markdown

OLD, NEW = "a" * 64, "b" * 64


def of(run, version=None, recipe=None, notes=(), data_hash=None, weights_hash=None, **parts):
    """The run with this origin: `memory={"files": ...}` and so on."""
    told = {"gotta": version, "notes": list(notes), "data_sha256": data_hash, "weights_sha256": weights_hash}
    found = run.stored
    return Run.of(
        replace(
            found,
            id=f"{found.id}-{len(str(parts))}-{version}-{str(data_hash)[:3]}-{hash(str(parts)) % 10**6}",
            summary=found.summary | told,
            identity=found.identity | {"parts": parts},
            recipe=recipe or {},
        )
    )


def code(digest, *more):
    return {"files": {"mine": digest, **{f"mine.{name}": digest for name in more}}}


def cells(panel):
    return {(row.label, column.label): [run.seed for run in entry.runs] for (row, column), entry in panel.cells.items()}


def labels(panel):
    return [row.label for row in panel.rows]


def test_seeds_of_different_code_are_two_rows_and_the_table_says_so():
    runs = [of(made("mine:M", seed=seed), memory=code(OLD if seed < 2 else NEW)) for seed in (0, 1, 2)]
    runs += [of(made("none", seed=seed), memory={"version": 1}) for seed in (0, 1, 2)]
    (panel,) = place(runs).panels
    assert cells(panel) == {
        ("none", "norm"): [0, 1, 2],
        ("mine:M code=aaaaaaaa", "norm"): [0, 1],
        ("mine:M code=bbbbbbbb", "norm"): [2],
    }
    note = "Kept apart: memory mine:M was run with different code (aaaaaaaa, bbbbbbbb)."
    assert note in setup_lines(panel)
    assert note in table(panel).caption


def test_one_seed_of_different_code_is_two_rows_as_well():
    runs = [of(made("mine:M"), memory=code(digest, "helper")) for digest in (OLD, NEW)]
    (panel,) = place(runs).panels
    assert len(panel.rows) == 2
    assert all(len(entry.runs) == 1 for entry in panel.entries)


def test_methods_of_different_code_are_two_columns():
    runs = [of(made(method="mine:M", seed=seed), method=code(digest)) for seed, digest in enumerate((OLD, NEW))]
    (panel,) = place(runs).panels
    assert [column.label for column in panel.columns] == ["mine:M code=aaaaaaaa", "mine:M code=bbbbbbbb"]


def test_seeds_of_different_defaults_are_two_rows_that_name_them():
    runs = [of(made(seed=seed), memory={"version": version}) for seed, version in enumerate((1, 1, 2))]
    (panel,) = place(runs).panels
    assert cells(panel) == {("fps version=1", "norm"): [0, 1], ("fps version=2", "norm"): [2]}


def test_a_row_that_leaves_a_setting_to_its_default_is_labelled_by_it():
    usual, other = (made(memory__arguments={"epsilon": epsilon}) for epsilon in (0.005, 0.1))
    usual.identity.settings["memory"].pop("epsilon")
    assert labels(panel_of([usual, other])) == ["fps epsilon=0.005", "fps epsilon=0.1"]


def test_settings_that_differ_between_seeds_are_not_averaged_either():
    runs = [made(seed=seed, memory__arguments={"epsilon": 0.1 * (1 + seed)}) for seed in (0, 1)]
    assert labels(panel_of(runs)) == ["fps epsilon=0.1", "fps epsilon=0.2"]


@pytest.mark.parametrize("kind", ["data_hash", "weights_hash"])
def test_runs_of_different_data_or_weights_share_no_table(kind):
    runs = [of(made(seed=seed), **{kind: OLD if seed else NEW}) for seed in (0, 1, 2)]
    found = place(runs).panels
    assert [panel.title for panel in found] == [f"{kind} aaaaaaaa", f"{kind} bbbbbbbb"]
    assert [[run.seed for run in panel.runs] for panel in found] == [[1, 2], [0]]


@pytest.mark.parametrize("part", ["data", "model", "order", "schedule"])
def test_runs_of_a_different_data_set_network_or_stream_in_code_share_no_table(part):
    found = place([of(made(seed=seed), **{part: code(digest)}) for seed, digest in enumerate((OLD, NEW))]).panels
    assert len(found) == 2
    assert "code aaaaaaaa" in found[0].title


def test_a_cell_of_two_versions_is_split_into_tables_by_version():
    runs = [of(made(memory, seed=seed), f"0.{seed}") for memory in ("none", "fps") for seed in (0, 1)]
    found = place(runs).panels
    assert [panel.title for panel in found] == ["gotta 0.0", "gotta 0.1"]
    assert all(labels(panel) == ["none", "fps"] for panel in found)


def test_cells_of_one_version_each_share_a_table_that_names_the_versions():
    runs = [of(made("none", seed=seed), "0.1") for seed in (0, 1)] + [of(made(seed=seed), "0.2") for seed in (0, 1)]
    (panel,) = place(runs).panels
    assert "Made with several versions of gotta: 0.1, 0.2." in setup_lines(panel)


def test_runs_that_are_alike_have_no_such_lines():
    assert origin_lines([of(made(seed=seed), "0.1", data_hash=OLD, memory=code(OLD)) for seed in (0, 1)]) == []


def test_notes_of_memory_and_method_stand_once_under_the_table():
    runs = [of(made(seed=seed), notes=["capacity=5 gives each of 10 classes 0.5 of a slot."]) for seed in (0, 1)]
    lines = [line for line in setup_lines(panel_of(runs)) if line.startswith("Note: ")]
    assert lines == ["Note: capacity=5 gives each of 10 classes 0.5 of a slot."]


def test_data_of_another_content_is_not_the_same_stream():
    ours, theirs = [of(made(), data_hash=OLD)], [of(made("none"), data_hash=NEW)]
    assert difference(ours, theirs).refused == ("seed 0: the streams differ",)
    unknown = [made("none")]
    assert difference(ours, unknown).refused == ()


def test_stores_with_runs_of_different_code_are_compared_code_by_code():
    before = [of(made("mine:M", scores=(score,)), memory=code(digest)) for score, digest in ((40, OLD), (60, NEW))]
    found = find_changes(before, before)
    assert len(found.shared) == 2
    assert all(change.identical for change in found.shared)
    assert {run.scores()["fog-5"] for change in found.shared for run in change.before} == {40.0, 60.0}


def test_a_table_is_headed_by_the_title_of_its_recipe(tmp_path):
    runs = [of(made(seed=seed), recipe={"name": "mini", "title": "Memories on a small stream"}) for seed in (0, 1)]
    text = report_markdown(read_results(stored(tmp_path, runs)))
    assert "## Memories on a small stream" in text
    assert "Recipe: Memories on a small stream." in text


def test_a_recipe_that_was_retitled_heads_its_table_once_by_its_newest_title():
    titles = {"Memories; an hour": 2e9, "Memories": 3e9, "Memory": 1e9}
    runs = [of(made(seed=i), recipe={"name": "mini", "title": title}) for i, title in enumerate(titles)]
    runs = [replace(run, stored=replace(run.stored, finished=titles[run.recipe])) for run in runs]
    other = of(made(seed=9), recipe={"name": "long", "title": "Longer"})
    assert place([*runs, other]).whole.recipe == "Memories and Longer"


def test_what_a_run_is_made_from_stands_in_its_sections():
    run = of(made(), data_hash=OLD, order=code(NEW), memory={"version": 2}, method=code(OLD))
    assert list_origins(run) == {
        "data.data_hash": "a" * 8,
        "stream.order_code": "b" * 8,
        "memory.version": 2,
        "method.code": "a" * 8,
    }
