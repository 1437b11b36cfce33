"""What varies in the specs decides which runs share a table."""

import pytest
from made_runs import made, panel_of

from gotta.report.panel import place


def panels(runs):
    return place(runs).panels


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
        assert panel.rows == ("none", "fifo", "fps")


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
    assert panel.rows == ("none", "fps epsilon=0.001", "fps epsilon=0.01")
    (panel,) = panels([made(method__embedding=e) for e in ("probs", "features")])
    assert panel.columns == ("norm embedding=features", "norm embedding=probs")


def test_lists_in_a_title_are_short():
    domains = [f"d{i}" for i in range(9)]
    found = panels([made(stream__domains=domains), made(stream__domains=["d1"])])
    assert {panel.title for panel in found} == {"domains d0 ... d8 (9)", "domains d1"}


def test_cells_hold_the_runs_of_a_row_and_column():
    runs = [
        made("none", "source"),
        made("fps"),
        made("fps", seed=1),
        made("none"),
        made("none", control="true_kcenter"),
    ]
    panel = panel_of(runs)
    assert panel.rows == ("none", "fps", "control: k-centre by true labels")
    assert panel.columns == ("source", "norm")
    assert panel.controls == ("control: k-centre by true labels",)
    assert panel.cells["fps", "norm"] == (runs[1], runs[2])
    assert panel.cells["fps", "source"] == ()
    assert list(panel.methods) == ["norm"]
    assert list(panel.methods["norm"]) == list(panel.rows)
    assert [(column, row) for column, row, _ in panel.filled] == [
        ("source", "none"),
        ("norm", "none"),
        ("norm", "fps"),
        ("norm", "control: k-centre by true labels"),
    ]
    assert {run for _, _, found in panel.filled for run in found} == set(runs)


def test_the_former_name_of_a_control_has_the_row_of_its_present_one():
    panel = panel_of([made("none", control=name) for name in ("oracle", "true_kcenter")])
    assert panel.rows == ("control: k-centre by true labels",)


def test_settings_that_differ_in_a_cell_tell_its_rows_and_columns_apart():
    sizes = [made(memory__capacity=size) for size in (128, 8)]
    panel = panel_of([*sizes, made("none")])
    assert panel.rows == ("none", "fps capacity=8", "fps capacity=128")
    assert panel.cells["fps capacity=8", "norm"] == (sizes[1],)
    assert panel.row_axes == {"fps": ["memory.capacity"]}
    panel = panel_of([made(method__rate=rate) for rate in (0.1, 0.05)])
    assert panel.columns == ("norm rate=0.05", "norm rate=0.1")
    assert panel_of([made(method__rate=0.1), made()]).columns == ("norm", "norm rate=0.1")  # which has no rate
    assert panel.column_axes == {"norm": ["method.rate"]}


def test_what_follows_from_another_setting_is_not_repeated():
    panel = panel_of([made(memory__capacity=m, regime__batch_size=m) for m in (32, 64)])
    assert panel.rows == ("fps capacity=32", "fps capacity=64")
    pairings = {"paper": "batch", "memory": "running"}
    panel = panel_of([made(method="tent", pairing=p, method__statistics=s) for p, s in pairings.items()])
    assert panel.rows == ("fps pairing=memory", "fps pairing=paper")
    assert panel.columns == ("tent",)


def test_settings_that_differ_between_cells_make_no_rows():
    assert panel_of([made(), made("none", regime__adapt_every=64)]).rows == ("none", "fps")


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
