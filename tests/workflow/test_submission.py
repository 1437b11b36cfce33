"""What the leaderboard takes, and each thing it does not, with one error that says why."""

from dataclasses import replace

import pytest
from made_runs import made, stored
from report.board.made_boards import ranked_runs

import gotta
from gotta.errors import GottaError
from gotta.experiment.sweep.kept import Kept
from gotta.workflow.submission import submit

pytestmark = pytest.mark.usefixtures("readable_names")
GOOD = '''
from dataclasses import dataclass

from gotta.memory import Decision, Policy


@dataclass(frozen=True)
class Newest(Policy):
    """Keeps overwriting one row."""

    def place(self, table, new, rng):
        return Decision(0, "newest")
'''
RECIPE = {
    "title": "mine",
    "protocol": "ptta-1",
    "base": {
        "data": {"name": "cifar10-mini"},
        "stream": {"per_class": 1, "domains": ["snow"]},
        "memory": {"capacity": 8},
    },
    "cells": [{"method": ["norm"], "memory": ["fps"], "control": ["running_statistics", "same_samples"]}],
}


def refused(tmp_path, runs, words, **options):
    store = stored(tmp_path / "runs", runs)
    with pytest.raises(GottaError, match=words):
        submit(store, tmp_path / "mine.jsonl", **options)
    assert not (tmp_path / "mine.jsonl").exists()


def test_complete_results_are_packed(tmp_path):
    store = stored(tmp_path / "runs", ranked_runs())
    assert submit(store, tmp_path / "mine.jsonl") == (30, ["ptta-1"])
    assert len(Kept(tmp_path / "mine.jsonl").runs()) == 30
    with pytest.raises(GottaError, match=r"mine.jsonl' exists"):
        submit(store, tmp_path / "mine.jsonl")


def test_fewer_than_three_seeds_are_refused(tmp_path):
    refused(tmp_path, ranked_runs([0, 1]), r"has 2 seeds.*\. Expected at least 3, as with --seeds 0,1,2\.")


def test_one_cell_with_fewer_seeds_is_refused(tmp_path):
    runs = [run for run in ranked_runs() if run.id != "tent-fps-2"]
    refused(tmp_path, runs, r"tent \+ fps has 2 seeds on the stream of \w+-1")


def test_a_method_with_a_memory_needs_its_controls(tmp_path):
    runs = [run for run in ranked_runs() if (run.spec.method.name, run.spec.control) != ("tent", "same_samples")]
    refused(tmp_path, runs, "tent has a memory and lacks the control same_samples, without which nobody can tell")


def test_methods_without_a_memory_need_controls_too(tmp_path):
    runs = [run for run in ranked_runs() if run.spec.method.name == "deskew"]
    refused(tmp_path, runs, "the runs lack the controls running_statistics, same_samples")


def test_runs_of_no_protocol_are_refused(tmp_path):
    runs = [made(stream__gamma=0.7, seed=seed) for seed in range(3)]
    refused(tmp_path, runs, "belongs to no protocol that has a version. Expected the settings of one of .*iid-1")


def test_a_protocol_without_a_version_is_refused(tmp_path):
    runs = [replace(run, stored=replace(run.stored, recipe={"protocol": "mine.yaml"})) for run in ranked_runs()]
    refused(tmp_path, runs, "was made by protocol 'mine.yaml', which has no version here. Expected one of .*iid-1")


def test_damaged_and_missing_runs_are_refused(tmp_path):
    store = stored(tmp_path / "runs", ranked_runs())
    (store.folder / "norm-fps-0" / "summary.json").write_text("{}")
    with pytest.raises(GottaError, match=r"run norm-fps-0 in .* is damaged"):
        submit(store, tmp_path / "mine.jsonl")
    (tmp_path / "none").mkdir()
    with pytest.raises(GottaError, match="no finished runs"):
        submit(stored(tmp_path / "none", []), tmp_path / "mine.jsonl")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (GOOD, ""),
        (GOOD.replace("return Decision", "self.__dict__['n'] = getattr(self, 'n', 0) + 1; return Decision"), "checks"),
    ],
)
def test_a_part_of_ones_own_must_pass_its_checks(tmp_path, monkeypatch, code, words):
    name = f"own_policy_{abs(hash(code))}"
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    store = gotta.bench(RECIPE, memory=f"{name}:Newest", seeds=[0, 1, 2], out=tmp_path / "runs").store
    with pytest.raises(GottaError, match=rf"imported only on your word. Add --import {name}."):
        submit(store, tmp_path / "mine.jsonl")
    if words:
        with pytest.raises(GottaError, match=rf"memory '{name}:Newest' does not pass its {words}"):
            submit(store, tmp_path / "mine.jsonl", imports=[name])
        assert not (tmp_path / "mine.jsonl").exists()
    else:
        assert submit(store, tmp_path / "mine.jsonl", imports=[name])[0] == 9
