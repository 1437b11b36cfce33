"""Paired differences to a baseline, and to the same without a prior."""

import pytest
from made_runs import made, panel_of
from made_tables import cells

from gotta.report import panel as panels
from gotta.report.rows import RUNNING
from gotta.report.tables.gains import find_twins, gain_table, prior_table

NONE = [made("none", scores=(50.0, 60.0, 55.0, 65.0), seed=seed) for seed in range(3)]
FPS = [made("fps", scores=(60.2, 70.06 - seed / 10, 65.1, 74.9 + seed / 10), seed=seed) for seed in range(3)]
FIFO = [made("fifo", scores=(50.5 - seed / 5, 59.5, 55.0 + seed / 5, 65.4), seed=seed) for seed in range(3)]
LOW, HIGH = (40.0, 42.0, 44.0, 46.0), (70.0, 72.0, 74.0, 77.0)
STICKY = {"method__prior": "sticky", "method__labels": "filtered", "method__order_in_batch": "time"}


def test_gains_have_intervals_and_marks():
    found = gain_table(panel_of([*NONE, *FPS, *FIFO]))
    shown = {row.names[0]: row.cells[0] for row in found.rows}
    assert shown["fps"].number == "+10.1"
    assert not shown["fps"].tied
    assert shown["fifo"].tied
    assert shown["fps"].runs == tuple(run.id for run in FPS)


def test_gains_on_other_streams_are_refused():
    found = gain_table(panel_of([*NONE, made("fps", stream_hash="another")]))
    assert found.rows[0].cells[0].number == "unpaired"
    assert "not run on the same streams" in found.caption[-1]


def test_without_the_baseline_there_is_no_gain():
    assert gain_table(panel_of([made("none", "source"), *FPS])).rows == ()
    assert gain_table(panel_of(FPS), RUNNING).rows == ()
    assert gain_table(panel_of([*NONE, *FPS, made("fps", "tent")])).columns == ("norm",)


def test_rows_at_their_best_rate_are_compared_with_the_control_at_its_own(monkeypatch):
    monkeypatch.setattr(panels, "best_rates", lambda: {("norm", "fps"): 0.2, ("norm", "running_statistics"): 0.1})

    def at(rate, score, memory="none"):
        control = None if memory == "fps" else "running_statistics"
        return made(memory, scores=(score,) * 4, control=control, method__rate=rate)

    found = gain_table(panel_of([at(0.05, 50), at(0.1, 53), at(0.05, 51, "fps"), at(0.2, 60, "fps")]), RUNNING)
    shown = {name: gain.value for (name, _), gain in cells(found).items() if name.startswith("fps")}
    assert shown == {"fps": 1, "fps at best rate (0.2)": 7}


@pytest.mark.parametrize(("size", "fair"), [(32, True), (64, False)])
def test_there_is_no_interval_and_no_tie_across_unequal_steps(size, fair):
    steps = {"regime__batch_size": size, "regime__adapt_every": None}
    near = [made("none", scores=(50.0, 60.0, 55.0, 65.0), seed=k, **steps) for k in range(3)]
    (gain,) = gain_table(panel_of([*near, *FIFO])).cells
    assert (gain.interval is not None, gain.tied, gain.other_steps) == (fair, fair, not fair)


def test_a_memory_gains_over_none_under_the_same_prior_only():
    low = made("none", scores=LOW)
    panel = panel_of([low, made("fps", scores=HIGH, **STICKY), made("none", scores=HIGH, **STICKY)])
    found = cells(gain_table(panel))
    assert {place: gain.value for place, gain in found.items()} == {("fps", "norm with sticky prior"): 0.0}


def test_what_the_prior_adds_is_paired_with_the_same_run_without():
    runs = [made("none"), made("fps"), made("none", scores=HIGH, **STICKY), made("fps", scores=HIGH, **STICKY)]
    runs += [made("none", "source", LOW), made("none", "source", HIGH, **STICKY), made("cstu", scores=HIGH, **STICKY)]
    found = {
        (name, column.split()[0]): gain.number for (name, column), gain in cells(prior_table(panel_of(runs))).items()
    }
    assert found.pop(("fps", "source")) == "·"
    assert found == {("none", "source"): "+30.2", ("none", "norm"): "+20.2", ("fps", "norm"): "+20.2"}
    assert "» uses the order of samples or the mix of a batch" in prior_table(panel_of(runs)).caption[-1]
    assert prior_table(panel_of([made()])).rows == ()


def test_deskew_is_compared_with_its_statistics_without_the_prior():
    kind = {"method__statistics": "class", "memory__capacity": None}
    runs = [made("none", "norm", LOW, **kind), made("none", "deskew", HIGH, **kind, **STICKY)]
    panel = panel_of([*runs, made("none", "norm", HIGH, memory__capacity=None)])
    (deskew,) = [entry for entry in panel.entries if entry.column.method == "deskew"]
    assert find_twins(panel)[deskew] == [runs[0]]
    assert cells(prior_table(panel))["none", "deskew with sticky prior"].number == "+30.2"
