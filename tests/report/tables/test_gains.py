"""Paired differences to a baseline."""

import pytest
from made_runs import made, panel_of

from gotta.errors import GottaError
from gotta.report import rates
from gotta.report.tables.comparison import table
from gotta.report.tables.gains import gain_table, gains, has_baseline

NONE = [made("none", scores=(50.0, 60.0, 55.0, 65.0), seed=seed) for seed in range(3)]
FPS = [made("fps", scores=(60.2, 70.06 - seed / 10, 65.1, 74.9 + seed / 10), seed=seed) for seed in range(3)]
FIFO = [made("fifo", scores=(55.0 - seed, 61.5, 50.0 + seed, 64.0), seed=seed) for seed in range(3)]


def test_gains_have_intervals_and_marks():
    found = gain_table(panel_of([*NONE, *FPS, *FIFO]))
    shown = {row.names[0]: row.cells[0] for row in found.rows}
    assert shown["fps"].number == "+10.1"
    assert not shown["fps"].tied
    assert shown["fifo"].tied
    assert "other seeds (n=3) and other domains like these 4" in found.caption[1]


def test_gains_on_other_streams_are_refused_by_name():
    panel = panel_of([*NONE, made("fps", stream_hash="another")])
    assert gains(panel)["fps", "norm"].estimate is None
    found = gain_table(panel)
    assert found.rows[0].cells[0].number == "unpaired"
    assert "norm + fps, seed 0: the streams differ" in found.caption[-1]


def test_a_baseline_is_a_row_that_somebody_adapted():
    panel = panel_of([made("none", "source"), *FPS])
    assert not has_baseline(panel, "none")
    with pytest.raises(GottaError, match="baseline 'running_statistics' is unknown"):
        gains(panel, "running_statistics")


def test_a_method_without_the_baseline_has_no_column():
    panel = panel_of([*NONE, *FPS, made("fps", "tent")])
    assert gain_table(panel).columns == ("norm",)


def test_rows_at_their_best_rate_are_compared_with_the_control_at_its_own(monkeypatch):
    monkeypatch.setattr(rates, "best_rates", lambda: {("norm", "fps"): 0.2, ("norm", "running_statistics"): 0.1})

    def at(rate, score, memory="none"):
        control = None if memory == "fps" else "running_statistics"
        return made(memory, scores=(score,) * 4, control=control, method__rate=rate)

    found = gains(panel_of([at(0.05, 50), at(0.1, 53), at(0.05, 51, "fps"), at(0.2, 60, "fps")]), "running_statistics")
    shown = {row: gain.estimate.mean for (row, _), gain in found.items()}
    assert shown["fps"] == 1
    assert shown["fps, at its best rate (0.2)"] == 7


def test_there_is_no_interval_and_no_tie_across_unequal_steps():
    for size, fair in ((32, True), (64, False)):
        near = [
            made("none", scores=(55.0, 61.0, 50.0, 64.9), seed=k, regime__batch_size=size, regime__adapt_every=None)
            for k in range(3)
        ]
        panel = panel_of([*near, *FIFO])
        (gain,) = [row.cells[0] for row in gain_table(panel).rows]
        assert (gain.interval is not None, gain.tied) == (fair, fair)
        assert table(panel).has_ties == fair
