"""Kept runs are run again; a forged one is found, whatever its checksum."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cli.shell import as_in_a_shell, gotta  # noqa: F401

from gotta import GottaError
from gotta.experiment.sweep.kept import NEAR, OTHER, SAME, VERIFIED, Kept, line_of, note, open_runs, read_verified
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


@pytest.mark.parametrize(
    ("section", "wrong"),
    [
        ("online", {}),
        ("online", {"domains": 3}),
        ("online", {"domains": ["x"]}),
        ("online", {"domains": [{"accuracy": "x"}]}),
        ("accuracy", [1]),
        ("cost", {"predict": {"forwards": 1}}),
        ("stream", None),
    ],
)
def test_numbers_of_any_other_kind_are_other_numbers(run, section, wrong):
    """Whatever a forged line holds; times and memory are nobody's to repeat."""
    assert compare({**run.summary, section: wrong}, run.summary, alike=True)[0] == OTHER
    told = {**run.summary, "seconds": 1e9, "cost": {**run.summary["cost"], "peak_mb": 1.0}}
    assert compare(told, run.summary, alike=True) == (SAME, 0.0)


def test_what_cannot_be_run_here_is_left_out_and_counted(run, tmp_path):
    path = tmp_path / "x.jsonl"
    endless = replace(run, summary={**run.summary, "seconds": ["x"]})
    for text, reason in [
        (line_of(run), "1 not known to take at most 1e-09 s"),
        (line_of(endless), "1 not known to take at most 1e-09 s"),
        (line_of(run).replace("accuracy", "acuracy"), "1 damaged"),
        ("", "it is empty"),
    ]:
        path.write_text(text + "\n")
        with pytest.raises(GottaError, match=f"can be run again here: {reason}"):
            list(verify(open_runs(path), seconds=1e-9))


def test_a_forged_line_ends_the_command_with_1_and_notes_that_are_damaged_verify_nothing(run, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(line_of(forged(run, 25.0)) + "\nno line\n")
    shown = gotta("verify", path, code=1, stream="out")
    assert "OTHER NUMBERS (largest difference of a domain: 25 points)" in shown
    assert "never drawn: 1 damaged" in shown
    with (tmp_path / VERIFIED).open("a") as file:
        file.write('{}\nnull\nx\n{"id": "x"}\n')
    found = read_verified(tmp_path / VERIFIED, [forged(run, 25.0)])
    assert {id: one.outcome for id, one in found.items()} == {run.id: OTHER}


def test_notes_are_no_runs(run, tmp_path):
    (tmp_path / "x.jsonl").write_text(line_of(run) + "\n")
    (tmp_path / VERIFIED).write_text('{"id": "x"}\n')
    assert [id for id, _ in open_runs(tmp_path).scan()] == [run.id]
