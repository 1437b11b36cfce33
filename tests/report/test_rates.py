"""Runs at their best rate stand in rows of their own, beside those at the default rate."""

import pytest
from made_runs import made, panel_of

from gotta.report import panel as panels
from gotta.report.panel import at_best
from gotta.report.rows import RUNNING, Row

BEST = {("norm", "fps"): 0.2, ("norm", "cstu"): 0.05, ("rotta", "fps"): 0.1, ("norm", "running_statistics"): 0.1}


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(panels, "best_rates", lambda: BEST)


def at(rate, memory="fps", method="norm", **options):
    return made(memory, method, method__rate=rate, **options)


def rows(runs):
    return [row.label for row in panel_of(runs).rows]


def test_both_rates_are_rows_of_one_column():
    control = {"memory": "none", "control": "running_statistics"}
    panel = panel_of([made("none"), at(0.05), at(0.2), at(0.05, **control), at(0.1, **control)])
    assert len(panel.columns) == 1
    fps = Row("memory", "fps")
    assert [row.usual for row in panel.rows[1:]] == [fps, fps, RUNNING, RUNNING]
    assert [row.best_rates for row in panel.rows[1:]] == [(), (("norm", 0.2),), (), (("norm", 0.1),)]
    assert at_best(panel.methods[panel.columns[0]], RUNNING).runs[0].spec.method.rate == 0.1


def test_each_method_has_its_rate():
    panel = panel_of([at(rate, method=method) for method, rate in (("norm", 0.2), ("rotta", 0.1))])
    assert panel.rows[0].best_rates == (("norm", 0.2), ("rotta", 0.1))
    assert len(panel.columns) == 2


def test_a_best_rate_that_is_the_default_needs_no_row():
    panel = panel_of([at(0.05, "cstu"), at(0.05), at(0.2)])
    assert [entry.at_best_rate for entry in panel.entries] == [True, False, True]


def test_a_rate_that_is_swept_or_chosen_by_hand_stays_a_setting():
    swept = panel_of([at(rate) for rate in (0.05, 0.1, 0.2)])
    assert [column.settings[0][1] for column in swept.columns] == [0.05, 0.1, 0.2]
    assert rows([at(0.2), at(0.2, "cstu")]) == ["cstu", "fps"]


def test_settings_of_a_memory_are_told_beside_the_rate():
    runs = [at(rate, memory__arguments={"epsilon": e}) for rate in (0.05, 0.2) for e in (0.001, 0.01)]
    assert rows(runs)[2:] == ["fps at best rate (0.2) epsilon=0.001", "fps at best rate (0.2) epsilon=0.01"]


def test_what_has_no_rate_is_not_at_its_best():
    assert not panels.is_best(made("none", "tent"))
