"""What varies in the specs decides which runs share a table."""

import pytest
from made_runs import made, panel_of

from gotta.report.panel import place
from gotta.report.rows import Column, Row


def panels(runs):
    return place(runs).panels


def rows(panel):
    return [row.label for row in panel.rows]


def columns(panel):
    return [column.label for column in panel.columns]


def names(panel):
    return sorted({f"{run.spec.method.name}+{run.spec.memory.name}" for run in panel.runs})


def test_one_set_up_is_one_panel_without_a_title():
    found = panels([made(), made(seed=1), made("none", regime__batch_size=64)])
    assert [panel.title for panel in found] == [""]
    assert len(found[0].runs) == 3


def test_capacities_make_panels_and_share_what_has_no_memory():
    runs = [made("none", memory__capacity=None), made("none", "source", memory__capacity=None)]
    runs += [made(memory, memory__capacity=m, regime__batch_size=m) for memory in ("fps", "fifo") for m in (64, 8)]
    found = panels(runs)
    assert [panel.title for panel in found] == ["capacity 8", "capacity 64"]
    for panel in found:
        assert names(panel) == ["norm+fifo", "norm+fps", "norm+none", "source+none"]
        assert rows(panel) == ["none", "fifo", "fps"]


def test_a_row_without_memory_run_at_every_capacity_stands_once_in_each():
    runs = [made(memory, memory__capacity=m) for memory in ("none", "fps") for m in (8, 16)]
    found = panels(runs)
    assert [[run.spec.memory.capacity for run in panel.runs] for panel in found] == [[8, 8], [16, 16]]


def test_resets_gammas_and_capacities_combine():
    runs = [
        made(memory__capacity=m, regime__reset=reset, stream__gamma=gamma)
        for m in (32, 64)
        for reset in ("never", "each_domain")
        for gamma in (0.1, 0.0001)
    ]
    titles = [panel.title for panel in panels(runs)]
    assert len(titles) == 8
    assert titles[0] == "gamma 0.0001, capacity 32, reset each_domain"
    assert titles[-1] == "gamma 0.1, capacity 64, reset never"


def test_a_combination_nobody_ran_has_no_panel():
    runs = [made(memory__capacity=8), made(memory__capacity=16, regime__reset="each_domain"), made(memory__capacity=16)]
    runs += [made("none", "source")]
    assert [panel.title for panel in panels(runs)] == [
        "capacity 8, reset never",
        "capacity 16, reset each_domain",
        "capacity 16, reset never",
    ]


def test_settings_of_one_memory_make_rows_and_of_a_method_columns():
    runs = [made(memory__arguments={"epsilon": e}) for e in (0.001, 0.01)] + [made("none")]
    (panel,) = panels(runs)
    assert rows(panel) == ["none", "fps epsilon=0.001", "fps epsilon=0.01"]
    (panel,) = panels([made(method__embedding=e) for e in ("probs", "features")])
    assert columns(panel) == ["norm embedding=features", "norm embedding=probs"]


def test_lists_in_a_title_are_short():
    domains = [f"d{i}" for i in range(9)]
    found = panels([made(stream__domains=domains), made(stream__domains=["d1"])])
    assert {panel.title for panel in found} == {"domains d0 ... d8 (9)", "domains d1"}


def test_cells_hold_the_runs_of_a_row_and_column_and_compute_their_number_once():
    runs = [
        *(made("none", "source"), made("fps"), made("fps", seed=1), made("none")),
        made("none", control="true_kcenter"),
    ]
    panel = panel_of(runs)
    assert rows(panel) == ["none", "fps", "control: k-centre by true labels"]
    assert columns(panel) == ["source", "norm"]
    fps = panel.cells[Row("memory", "fps"), Column("norm")]
    assert fps.runs == (runs[1], runs[2])
    assert fps.accuracy is fps.accuracy
    assert (Row("memory", "fps"), Column("source")) not in panel.cells
    assert list(panel.methods[Column("norm")]) == list(panel.rows)
    assert [entry.name for entry in panel.entries][:3] == ["the source model", "norm without a memory", "norm + fps"]
    assert {run for entry in panel.entries for run in entry.runs} == set(runs)
    assert panel.source.runs == (runs[0],)


def test_settings_that_differ_in_a_cell_tell_its_rows_and_columns_apart():
    sizes = [made(memory__capacity=size) for size in (128, 8)]
    panel = panel_of([*sizes, made("none")])
    assert rows(panel) == ["none", "fps capacity=8", "fps capacity=128"]
    assert panel.rows[1].settings == (("memory.capacity", 8),)
    assert panel.entries[1].runs == (sizes[1],)
    assert columns(panel_of([made(method__rate=rate) for rate in (0.1, 0.05)])) == ["norm rate=0.05", "norm rate=0.1"]
    assert columns(panel_of([made(method__rate=0.1), made()])) == ["norm", "norm rate=0.1"]  # which has no rate


def test_what_follows_from_another_setting_is_not_repeated():
    assert rows(panel_of([made(memory__capacity=m, regime__batch_size=m) for m in (32, 64)])) == [
        "fps capacity=32",
        "fps capacity=64",
    ]
    pairings = {"paper": "batch", "memory": "running"}
    panel = panel_of([made(method="tent", pairing=p, method__statistics=s) for p, s in pairings.items()])
    assert rows(panel) == ["fps pairing=memory", "fps pairing=paper"]
    assert columns(panel) == ["tent"]


def test_settings_that_differ_between_cells_make_no_rows():
    assert rows(panel_of([made(), made("none", regime__adapt_every=64)])) == ["none", "fps"]


def test_each_prior_is_a_column_after_other_settings():
    sticky = {"method__prior": "sticky"}
    panel = panel_of([made(method__rate=rate, **extra) for rate in (0.1, 0.2) for extra in ({}, sticky)])
    assert columns(panel)[:2] == ["norm rate=0.1", "norm rate=0.1 with sticky prior"]
    assert [column.uses_order for column in panel.columns] == [False, True, False, True]


def test_what_a_prior_is_told_of_clips_makes_no_other_table():
    sticky = [made("none", stream__boundaries=told, method__prior="sticky") for told in ("told", "hidden")]
    placed = place([made("none"), *sticky])
    assert len(placed.panels) == 1
    assert columns(placed.whole) == ["norm", "norm with sticky prior", "norm with sticky prior (clips hidden)"]


@pytest.mark.parametrize(
    "changes",
    [{"data__name": "other"}, {"stream__per_class": 8}, {"model__name": "other"}, {"data__arguments": {"seed": 1}}],
)
def test_runs_of_other_data_streams_or_models_never_share_a_table(changes):
    found = panels([made(), made(**changes), made(seed=1)])
    assert sorted(len(panel.runs) for panel in found) == [1, 2]


def test_one_table_is_the_whole():
    placed = place([made(), made("none")])
    assert placed.panels == (placed.whole,)


def test_no_runs_make_no_panel():
    placed = place([])
    assert placed.panels == ()
    assert (placed.whole.rows, placed.whole.columns, placed.whole.cells) == ((), (), {})
