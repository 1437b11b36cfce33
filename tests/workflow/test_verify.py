"""Kept runs are run again; a forged one is found, whatever its checksum."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gotta import GottaError
from gotta.experiment.sweep.kept import Kept, line_of, open_runs
from gotta.experiment.sweep.verified import NEAR, OTHER, SAME, VERIFIED, note, read_verified
from gotta.workflow.verify import compare, repeat, tolerance, verify

SAMPLE = Path(__file__).parents[2] / "results" / "sample.jsonl"


def forged(run, points):
    """The run with a better accuracy, and a checksum that fits."""
    online = json.loads(json.dumps(run.summary["online"]))
    for domain in online["domains"]:
        domain["accuracy"] += points
    online["accuracy"] += points
    return replace(run, summary={**run.summary, "accuracy": run.summary["accuracy"] + points, "online": online})


@pytest.fixture(scope="module")
def run():
    return min(Kept(SAMPLE).runs(), key=lambda run: run.summary["seconds"])


def test_a_true_run_is_the_same_or_near_and_a_forged_one_is_not(run, tmp_path):
    true = repeat(run)
    assert true.outcome in (SAME, NEAR)
    lie = repeat(forged(run, 25.0))
    assert (lie.outcome, lie.difference) == (OTHER, pytest.approx(25.0, abs=3))
    note([true], tmp_path / VERIFIED)
    note([lie], tmp_path / VERIFIED)
    assert len((tmp_path / VERIFIED).read_text().splitlines()) == 2
    assert read_verified(tmp_path / VERIFIED, [run]) == {run.id: true}, "the note on another line is not on this one"
    assert read_verified(tmp_path / VERIFIED, []) == {}
    assert read_verified(tmp_path / "none", [run]) == {}


def test_on_the_same_machine_every_bit_counts(run):
    inch = forged(run, 1e-9).summary
    assert compare(run.summary, run.summary, alike=True) == (SAME, 0.0)
    assert compare(inch, run.summary, alike=True)[0] == OTHER
    assert compare(inch, run.summary, alike=False)[0] == NEAR


def test_elsewhere_the_samples_of_a_domain_decide(run):
    assert tolerance(50.0, 100) == pytest.approx(15.0)
    assert tolerance(100.0, 100) == pytest.approx(1.0), "one sample"
    assert tolerance(50.0, 10_000) == pytest.approx(1.5)
    domain = run.summary["online"]["domains"][0]
    limit = min(tolerance(one["accuracy"], one["samples"]) for one in run.summary["online"]["domains"])
    assert domain["samples"] == 100
    assert compare(run.summary, forged(run, 0.5 * limit).summary, alike=False)[0] == NEAR
    assert compare(run.summary, forged(run, 20.0).summary, alike=False)[0] == OTHER


def test_a_mean_that_its_domains_do_not_give_is_found(run):
    """Only the headline number was changed."""
    lie = {**run.summary, "accuracy": 99.0}
    assert compare(lie, run.summary, alike=False)[0] == OTHER


def test_what_cannot_be_run_here_is_left_out(run, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(line_of(run) + "\n")
    assert [one.id for one in verify(open_runs(path), sample=5)] == [run.id]
    with pytest.raises(GottaError, match="can be run again here"):
        list(verify(open_runs(path), seconds=1e-9))


def test_notes_are_no_runs(run, tmp_path):
    (tmp_path / "x.jsonl").write_text(line_of(run) + "\n")
    (tmp_path / VERIFIED).write_text('{"id": "x"}\n')
    assert [id for id, _ in open_runs(tmp_path).scan()] == [run.id]
