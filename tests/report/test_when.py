"""When a memory, class statistics and the prior are worth it, from runs alone."""

from pathlib import Path

import pytest
from made_runs import made

from gotta.errors import GottaError
from gotta.report.when import list_gains, page


def runs():
    for run_length in (1.0, 50.0):
        for per_class in (10, 100):
            for gamma in (100.0, 0.1):
                stream = {
                    "stream__order": "runs",
                    "stream__run_length": run_length,
                    "stream__per_class": per_class,
                    "stream__gamma": gamma,
                }
                for rate, score in ((0.05, 60.0), (0.2, 62.0)):
                    yield made("none", control="running_statistics", scores=(score,), method__rate=rate, **stream)
                    yield made("fps", scores=(score + 3 * (run_length > 1),), method__rate=rate, **stream)
                yield made("none", "deskew", scores=(62.0 + run_length,), method__prior="patient", **stream)


def test_gains_are_over_the_best_rate():
    gains = list_gains(list(runs()))
    assert gains["norm + fps"][50.0, 10.0, 0.1] == 3
    assert gains["norm + fps"][1.0, 100.0, 100.0] == 0
    assert gains["deskew, patient prior"][50.0, 100.0, 0.1] == 50


def test_the_page_has_a_table_for_each():
    shown = page(list(runs()))
    assert (
        "| run | gamma 100, 10 images | gamma 100, 100 images | gamma 0.1, 10 images | gamma 0.1, 100 images |" in shown
    )
    assert "| 50 | +3.0 | +3.0 | +3.0 | +3.0 |" in shown
    assert "Above 0 in 4 of 8 places" in shown


def test_runs_of_another_recipe_are_one_error():
    with pytest.raises(GottaError, match="gotta bench when"):
        page([made()])


def test_the_page_is_that_of_the_kept_runs():
    from gotta.report.results import read_results

    root = Path(__file__).parents[2]
    assert (root / "docs" / "results" / "when.md").read_text() == page(
        read_results(root / "results" / "when.jsonl").runs
    )
