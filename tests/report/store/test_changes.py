"""Two stores side by side."""

import pytest
from made_runs import made

from gotta.report.store.changes import change_table, find_changes

BEFORE = [made(memory, seed=seed) for memory in ("none", "fps") for seed in (0, 1, 2)]


def test_a_store_and_itself():
    found = find_changes(BEFORE, BEFORE)
    assert (found.only_a, found.only_b, found.settings, found.environment) == ((), (), (), ())
    assert all(change.identical for change in found.shared)
    table = change_table(found)
    assert table.rows == ()
    assert table.caption[0] == "2 cells in both: 2 with the same numbers, 0 changed."


def test_cells_that_only_one_has():
    found = find_changes([*BEFORE, made("cds")], [*BEFORE, made("fps", "tent")])
    assert found.only_a == ("norm + cds",)
    assert found.only_b == ("tent + fps",)


def test_changes_are_told_with_their_significance():
    clear = [made("fps", scores=(60.0, 61.9, 64.1, 66.0), seed=seed) for seed in (0, 1, 2)]
    noise = [made("none", scores=(50.0 + seed / 3, 52.0, 54.0, 55.6), seed=seed) for seed in (0, 1, 2)]
    found = change_table(find_changes(BEFORE, [*clear, *noise]))
    shown = {row.names[0]: row.cells[2] for row in found.rows}
    assert shown["norm + fps"].value == pytest.approx(10.0)
    assert not shown["norm + fps"].tied
    assert shown["norm + none"].tied


def test_a_setting_that_differs_throughout_is_told_once_and_cells_match():
    after = [made(run.spec.memory.name, seed=run.seed, model__name="vit") for run in BEFORE]
    found = find_changes(BEFORE, after)
    assert found.settings == (("model.name", "resnet20", "vit"),)
    assert len(found.shared) == 2
    assert found.only_a == ()


def test_cells_with_the_same_names_are_told_apart():
    sizes = [made(memory__capacity=m) for m in (8, 16)]
    assert find_changes(sizes, sizes[:1]).only_a == ("norm + fps capacity=16",)


def test_other_streams_are_not_subtracted():
    after = [made("fps", scores=(90.0,) * 4, seed=seed, stream_hash=f"new {seed}") for seed in (0, 1, 2)]
    (row,) = change_table(find_changes(BEFORE[3:], after)).rows
    assert row.cells[2].number == "unpaired"
