"""The page about choosing and the package's advice come from runs alone."""

from pathlib import Path

import pytest
import yaml
from made_runs import made

from gotta.errors import GottaError
from gotta.report.choosing import as_data, count_passes, list_arguments, list_situations, page


def runs(**options):
    return [
        made("none", method="source", scores=(40.0, 41.0), **options),
        made("none", method="deskew", scores=(90.0, 91.0), method__prior="patient", **options),
        made("none", method="deskew", scores=(70.0, 71.0), method__prior="none", **options),
        made("fps", method="rotta", scores=(60.0, 61.0), **options),
        made("none", control="running_statistics", method__rate=0.1, scores=(65.0, 66.0), **options),
    ]


def test_each_run_is_a_call_of_adapt():
    assert [list_arguments(run) for run in runs()] == [
        {"method": "source"},
        {"method": "deskew"},
        {"method": "deskew", "prior": "none"},
        {"method": "rotta", "memory": "fps", "capacity": 32},
        {"method": "norm", "statistics": "running", "rate": 0.1},
    ]


def test_a_situation_has_its_lines_from_the_best_to_the_worst():
    (found,) = list_situations(runs())
    assert found.layers == "BatchNorm"
    assert [line.accuracy for line in found.lines] == [90.5, 70.5, 65.5, 60.5, 40.5]


def test_the_page_names_the_best_line_and_the_best_that_does_not_use_the_order():
    shown = page(runs())
    assert "`gotta.adapt(net)` reaches 90.5 % where the network as it is has 40.5" in shown
    assert '`gotta.adapt(net, method="deskew", prior="none")`, 70.5' in shown
    assert yaml.safe_load(yaml.safe_dump(as_data(runs())))["situations"][0]["lines"][0]["accuracy"] == 90.5


def test_no_runs_are_one_error():
    with pytest.raises(GottaError, match="gotta bench choosing"):
        as_data([])


def test_the_page_and_the_advice_are_those_of_the_kept_runs():
    from gotta.advice import FILE
    from gotta.report.results import read_results

    root = Path(__file__).parents[2]
    kept = read_results(root / "results" / "choosing.jsonl").runs
    assert (root / "docs" / "choosing.md").read_text() == page(kept)
    assert yaml.safe_load(FILE.read_text()) == yaml.safe_load(yaml.safe_dump(as_data(kept)))


def test_a_backward_is_as_wide_as_the_forwards_of_its_phase():
    single, step = {"forwards": 128, "backwards": 0, "samples": 128}, {"forwards": 4, "backwards": 2, "samples": 256}
    assert count_passes({"predict": single, "adapt": step}) == 128 * (1 + 2 + 2)  # rotta, a memory of 64, single images
    shared = {"forwards": 0, "backwards": 2, "samples": 0}  # tent goes back through the forward of the prediction
    assert count_passes({"predict": {**single, "forwards": 2}, "adapt": shared, "other": {"seconds": 1.0}}) == 128 * 3
