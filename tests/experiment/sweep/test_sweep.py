import os
import signal
import sys

import pytest
from experiment.tiny_sweep import STREAM, sweep, use_tiny

import gotta
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep import sweep as module
from gotta.experiment.sweep.cell import Work, execute
from gotta.experiment.sweep.leases import Leases
from gotta.experiment.sweep.store import Store
from gotta.memory import policies
from gotta.memory.policy import Policy
from gotta.report.panel import place
from gotta.report.stored_run import read_runs


def specs(count=3, memory="fifo"):
    stream = {"per_class": 1, "domains": ["snow"]}
    given = {"method": {"name": "source"}, "memory": {"name": memory, "capacity": 8}, "stream": stream}
    return [RunSpec.of({**given, "seed": seed}) for seed in range(count)]


def accuracies(store):
    return {run.id: run.summary["accuracy"] for run in store.runs()}


def test_runs_are_stored_and_not_run_again(tmp_path):
    store, events = Store(tmp_path, writable=True), []
    assert sweep(specs(), store, 1, 1, events.append) == []
    assert [event.kind for event in events if event.kind != "moved"] == ["started", "finished"] * 3
    assert accuracies(store).keys() == {spec.id for spec in specs()}
    events.clear()
    assert sweep(specs(), store, 1, 1, events.append) == []
    assert events == []


def test_a_failure_leaves_the_others(tmp_path):
    class Broken(Policy):
        def place(self, table, new, rng):
            raise RuntimeError("broken on purpose")

    policies.register("broken-on-purpose")(Broken)
    store = Store(tmp_path, writable=True)
    try:
        bad = specs(1, "broken-on-purpose")
        failures = sweep([*bad, *specs(2)], store, 1, 1, lambda event: None)
    finally:
        del policies._items["broken-on-purpose"]
    assert [failure.id for failure in failures] == [bad[0].id]
    assert "broken on purpose" in failures[0].message
    assert len(store.runs()) == 2
    assert store.damaged() == []


def test_worker_processes_give_the_same_numbers(tmp_path):
    one, two = Store(tmp_path / "one", writable=True), Store(tmp_path / "two", writable=True)
    sweep(specs(), one, 1, 1, lambda event: None)
    sweep(specs(), two, 2, 1, lambda event: None)
    assert accuracies(one) == accuracies(two)
    assert len(accuracies(one)) == 3


@pytest.mark.slow
def test_a_killed_worker_costs_nothing_but_its_unfinished_run(tmp_path):
    store, killed = Store(tmp_path, writable=True), []

    def kill_once(event):
        if event.kind == "moved" and not killed:
            import multiprocessing

            victim = multiprocessing.active_children()[0]
            killed.append(victim.pid)
            os.kill(victim.pid, signal.SIGKILL)

    assert sweep(specs(6), store, 2, 1, kill_once) == []
    assert len(killed) == 1
    assert len(store.runs()) == 6


def test_a_run_that_fails_writes_nothing(tmp_path):
    store = Store(tmp_path, writable=True)
    wrong = specs(1)[0].model_copy(update={"stream": {"domains": ["nowhere"]}})
    assert execute(wrong, Work(str(tmp_path)), lambda event: None).kind == "failed"
    assert list(store.folder.iterdir()) == []


def test_a_cell_that_another_sweep_runs_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LOOK", 0.01)
    store, (mine, theirs), events = Store(tmp_path, writable=True), specs(2), []
    other = Leases(tmp_path)
    lease = other.claim(theirs.id)
    other_store = Store(tmp_path / "other", writable=True)
    assert sweep([theirs], other_store, 1, 1, lambda event: None) == []
    finished = other_store.read(theirs.id)

    def listen(event):
        events.append(event)
        if event.kind == "finished" and event.id == mine.id:
            lease.progress = {"step": 1, "steps": 2, "accuracy": 12.5}
            other._beat_once([lease])
        if event.kind == "moved" and event.id == theirs.id:
            store.write(finished, finished.steps())
            other.release(lease, "finished")

    assert sweep([mine, theirs], store, 1, 1, listen) == []
    assert [event.kind for event in events if event.id == theirs.id] == ["moved", "finished"]
    assert next(event.accuracy for event in events if event.id == theirs.id) == 12.5
    assert store.has(theirs.id)


def test_what_a_killed_process_left_of_a_finished_cell_is_removed(tmp_path):
    store = Store(tmp_path, writable=True)
    assert sweep(specs(1), store, 1, 1, lambda event: None) == []
    id = specs(1)[0].id
    for name in ("leases", "snapshots"):
        (tmp_path / name / id).mkdir(parents=True)
    assert sweep(specs(1), store, 1, 1, lambda event: None) == []
    assert not (tmp_path / "leases" / id).exists()
    assert not (tmp_path / "snapshots" / id).exists()


POLICY = """
from dataclasses import dataclass
from gotta.memory.policy import Policy

@dataclass(frozen=True)
class Mine(Policy):
    def place(self, table, new, rng):
        return table.free() if len(table) < table.capacity else {slot}
"""


def test_an_edited_policy_is_run_again_and_its_seeds_are_not_mixed_with_those_of_before(tmp_path, monkeypatch):
    use_tiny(monkeypatch)
    monkeypatch.syspath_prepend(tmp_path)
    store, path = Store(tmp_path / "out", writable=True), tmp_path / "edited_policy.py"

    def swept(slot, seeds):
        """What a process does that begins now."""
        path.write_text(POLICY.format(slot=slot))
        monkeypatch.setattr(policies, "_permitted", {})
        sys.modules.pop("edited_policy", None)
        memory = {"name": "edited_policy:Mine", "capacity": 6}
        base = {"method": {"name": "norm"}, "memory": memory, "stream": STREAM, "regime": {"batch_size": 8}}
        todo = [RunSpec.of({**base, "seed": seed}, imports=["edited_policy"]) for seed in seeds]
        finished = [store.has(spec.id) for spec in todo]
        assert sweep(todo, store, 1, 1, lambda event: None) == []
        return finished

    assert swept(0, [0]) == [False]
    assert swept(0, [0]) == [True]
    assert swept(1, [0, 1]) == [False, False]
    assert swept(0, [0]) == [True]
    (panel,) = place(read_runs(store)[0]).panels
    seeds = sorted([run.seed for run in entry.runs] for entry in panel.entries)
    assert seeds == [[0], [0, 1]]
    sys.modules.pop("edited_policy", None)


def test_a_run_tells_the_version_the_data_and_what_was_noted(tmp_path, monkeypatch):
    use_tiny(monkeypatch)
    store = Store(tmp_path, writable=True)
    recipe = {"name": "mine", "title": "A title"}
    parts = {"memory": {"name": "cstu", "capacity": 2}, "method": {"name": "eata"}, "regime": {"batch_size": 8}}
    small = RunSpec.of({"stream": STREAM, **parts})
    assert sweep([small], store, 1, 1, lambda event: None, recipe=recipe) == []
    run = store.read(small.id)
    assert run.summary["gotta"] == gotta.__version__
    assert len(run.summary["data_sha256"]) == 64
    assert run.summary["notes"] == [
        "capacity=2 gives each of 3 classes 0.667 of a slot.",
        "eata without clean samples (fisher_data; in a spec method.fisher) is eta.",
    ]
    assert run.recipe == recipe
    assert run.identity == small.identity
