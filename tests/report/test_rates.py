"""Runs at their best rate stand in rows of their own, beside those at the rate of the paper."""

import pytest
from made_runs import made, panel_of

from gotta.report import rates
from gotta.report.rates import at_best, runs_at_best, without_rate

BEST = {("norm", "fps"): 0.2, ("norm", "cstu"): 0.05, ("rotta", "fps"): 0.1, ("norm", "running_statistics"): 0.1}


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(rates, "best_rates", lambda: BEST)


def at(rate, memory="fps", method="norm", **options):
    return made(memory, method, method__rate=rate, **options)


def test_both_rates_are_rows_of_one_column():
    control = {"memory": "none", "control": "running_statistics"}
    panel = panel_of([made("none"), at(0.05), at(0.2), at(0.05, **control), at(0.1, **control)])
    assert panel.columns == ("norm",)
    assert panel.rows == (
        "none",
        "fps",
        "fps, at its best rate (0.2)",
        "control: running statistics",
        "control: running statistics, at its best rate (0.1)",
    )
    assert panel.controls == panel.rows[3:]


def test_each_method_has_its_rate_in_the_name_of_the_row():
    panel = panel_of([at(rate, method=method) for method, rate in (("norm", 0.2), ("rotta", 0.1))])
    assert panel.rows == ("fps, at its best rate (norm 0.2, rotta 0.1)",)
    assert panel.columns == ("norm", "rotta")


def test_a_best_rate_that_is_the_papers_needs_no_row():
    panel = panel_of([at(0.05, "cstu"), at(0.05), at(0.2)])
    assert panel.rows == ("cstu", "fps", "fps, at its best rate (0.2)")
    assert {
        row: {run.spec.method.rate for run in runs} for row, runs in runs_at_best(panel.methods["norm"]).items()
    } == {
        "cstu": {0.05},
        "fps": {0.2},
    }


def test_a_rate_that_is_swept_or_chosen_by_hand_stays_a_setting():
    swept = panel_of([at(rate) for rate in (0.05, 0.1, 0.2)])
    assert swept.columns == ("norm rate=0.05", "norm rate=0.1", "norm rate=0.2")
    assert swept.rows == ("fps",)
    assert panel_of([at(0.2), at(0.2, "cstu")]).rows == ("cstu", "fps")


def test_settings_of_a_memory_are_told_beside_the_rate():
    runs = [at(rate, memory__arguments={"epsilon": e}) for rate in (0.05, 0.2) for e in (0.001, 0.01)]
    assert panel_of(runs).rows == (
        "fps epsilon=0.001",
        "fps epsilon=0.01",
        "fps, at its best rate (0.2) epsilon=0.001",
        "fps, at its best rate (0.2) epsilon=0.01",
    )


def test_what_has_no_rate_is_not_at_its_best():
    bare = made("none", "tent")
    assert bare.spec.method.rate is None
    assert not rates.is_best(bare)
    assert list(runs_at_best({"none": [bare], "fps": [at(0.2)]})) == ["fps"]


def test_names_of_rows_tell():
    assert at_best("fps, at its best rate (0.2)")
    assert not at_best("fps")
    assert without_rate("fps, at its best rate (0.2)") == without_rate("fps") == "fps"
