"""The Slurm engine: on submitit's local executor, and on a real controller where one answers."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from experiment.tiny_sweep import completions, leftovers, numbers, recordings, sweep

from gotta import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.cell import Work
from gotta.experiment.sweep.engines import slurm as module
from gotta.experiment.sweep.engines.slurm import Slurm
from gotta.experiment.sweep.leases import Leases
from gotta.experiment.sweep.store import Store
from gotta.experiment.sweep.sweep import Sweep


def specs(count, per_class=10):
    given = {
        "method": {"name": "norm"},
        "memory": {"name": "fps", "capacity": 8},
        "stream": {"per_class": per_class, "domains": ["snow", "fog", "frost"]},
    }
    return [RunSpec.of({**given, "seed": seed}) for seed in range(count)]


@pytest.fixture
def submitit():
    return pytest.importorskip("submitit", reason="submitit is not installed: pip install 'gotta-tta[slurm]'")


def run(root, cells, listen, record=(), pack=1, **options):
    work = Work(str(root), snapshot_every=0.1, beat=0.1, record=frozenset(record))
    return Sweep(Store(root, writable=True), work, Slurm(2, pack=pack, options=options), listen).run(cells)


def expected(tmp_path, cells):
    assert sweep(cells, Store(tmp_path / "local", writable=True), 1, 1, lambda event: None) == []
    return numbers(tmp_path / "local")


def children(pid):
    found = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return found + [below for child in found for below in children(child)]


def commands(pid, word):
    return [child for child in children(pid) if word in Path(f"/proc/{child}/cmdline").read_text()]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the children of a process are read from /proc")
def test_jobs_give_the_numbers_of_local_and_a_preempted_one_goes_on(submitit, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LOOK", 0.05)
    bad = specs(1)[0].model_copy(update={"stream": {"domains": ["nowhere"]}})
    preempted = []

    def listen(event):
        if event.kind == "moved" and event.step >= 5 and not preempted:
            for pid in commands(os.getpid(), "submitit.core._submit"):
                preempted.append(pid)
                os.kill(pid, signal.SIGUSR2)  # what submitit asks Slurm to send before it takes a node away

    failures = run(tmp_path / "jobs", [*specs(2), bad], listen, cluster="local")
    assert preempted
    assert numbers(tmp_path / "jobs") == expected(tmp_path, specs(2))
    assert [failure.id for failure in failures] == [bad.id]
    assert "nowhere" in failures[0].message
    events = [line["event"] for line in Leases(tmp_path / "jobs").history()]
    assert "stopped" in events
    assert "taken over" in events
    assert max(completions(tmp_path / "jobs").values()) == 1


@pytest.mark.slow
def test_jobs_of_several_cells_give_the_same_numbers(submitit, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LOOK", 0.05)
    cells = specs(5, per_class=1)
    assert run(tmp_path / "jobs", cells, lambda event: None, pack=2, cluster="local") == []
    assert numbers(tmp_path / "jobs") == expected(tmp_path, cells)
    assert len({line["pid"] for line in Leases(tmp_path / "jobs").history()}) == 3, "five cells in packs of two"
    assert leftovers(tmp_path / "jobs") == []


def test_a_pack_that_is_started_again_leaves_alone_what_it_has_finished(tmp_path):
    (one, two), work = specs(2, per_class=1), Work(str(tmp_path))
    outcomes = [tmp_path / "one.json", tmp_path / "two.json"]
    outcomes[0].write_text("{}")
    module.Pack(list(zip((one, two), outcomes, strict=True)), work)()
    assert outcomes[0].read_text() == "{}"
    assert json.loads(outcomes[1].read_text())[-1]["kind"] == "finished"
    assert not Store(tmp_path).has(one.id)
    assert Store(tmp_path).has(two.id)


class Executor:
    """As much of submitit's as the driver uses."""

    def __init__(self):
        self.arrays, self.parallel = [], []

    def update_parameters(self, slurm_array_parallelism):
        self.parallel.append(slurm_array_parallelism)

    def submit_array(self, packs):
        self.arrays.append([len(pack.cells) for pack in packs])
        return [SimpleNamespace(job_id=f"{len(self.arrays)}_{number}") for number in range(len(packs))]


def driver(tmp_path, jobs=0, pack=1):
    engine = SimpleNamespace(jobs=jobs, pack=pack, cluster="slurm")
    return module._Driver(Executor(), engine, Work(str(tmp_path)), lambda event: None)


def tools(tmp_path, monkeypatch, **scripts):
    """Commands of Slurm that say what they are told to."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_arrays_are_no_larger_than_the_controller_takes(submitit, tmp_path, monkeypatch):
    tools(tmp_path, monkeypatch, scontrol="echo 'MaxArraySize            = 4'")
    made = driver(tmp_path, jobs=7, pack=2)
    made._submit(specs(13))
    assert made.executor.arrays == [[2, 2, 2], [2, 2, 2], [1]]
    assert made.executor.parallel == [2], "seven at a time in all"
    assert len(made.running) == 13


@pytest.mark.parametrize(("state", "counts"), [("PREEMPTED", 0), ("NODE_FAIL", 0), ("FAILED", 1), ("COMPLETED", 1)])
def test_a_job_that_lost_its_node_is_not_a_failure(submitit, tmp_path, monkeypatch, state, counts):
    tools(tmp_path, monkeypatch, scontrol=f"echo 'JobId=1 JobState={state} Reason=None'", squeue="true")
    monkeypatch.setattr(module, "ASK", 0.0)
    made, (spec,) = driver(tmp_path), specs(1)
    made._submit([spec])
    assert made._settle() == [spec]
    assert made.tried[spec.id] == counts


@pytest.mark.slow
def test_a_job_records_its_cell(submitit, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LOOK", 0.05)
    cells = specs(2, per_class=1)
    record = {cells[0].id}
    assert run(tmp_path / "jobs", cells, lambda event: None, record, cluster="local") == []
    local = Store(tmp_path / "local", writable=True)
    assert sweep(cells, local, 1, 1, lambda event: None, record=record) == []
    assert numbers(tmp_path / "jobs") == numbers(local.root)
    assert recordings(tmp_path / "jobs") == recordings(local.root)
    assert recordings(local.root).keys() == record


@pytest.mark.slow
def test_a_real_controller_requeues_and_the_cell_goes_on(submitit, tmp_path, monkeypatch):
    """Start one with tests/slurm/controller.sh."""
    if not shutil.which("sinfo") or subprocess.run(["sinfo"], capture_output=True, timeout=60).returncode:
        pytest.skip("no Slurm controller answers sinfo")
    monkeypatch.setattr(module, "LOOK", 0.05)
    requeued = []

    def listen(event):
        if event.kind == "moved" and event.step >= 5 and not requeued:
            queue = ["squeue", "--noheader", "--array", "--states=RUNNING", "--name=gotta", "--format=%i"]
            for job in subprocess.run(queue, capture_output=True, text=True, check=True).stdout.split()[:1]:
                requeued.append(job)
                subprocess.run(["scontrol", "requeue", job], check=True)

    cells = specs(5, per_class=40)
    assert run(tmp_path / "jobs", cells, listen, pack=2) == []
    assert len({path.name.split("_")[0] for path in (tmp_path / "jobs" / "slurm").glob("*_log.out")}) > 1, "two arrays"
    assert len(requeued) == 1
    assert numbers(tmp_path / "jobs") == expected(tmp_path, cells)
    assert "taken over" in [line["event"] for line in Leases(tmp_path / "jobs").history()]
    assert max(completions(tmp_path / "jobs").values()) == 1
    assert leftovers(tmp_path / "jobs") == []


def test_without_submitit_the_way_to_it_is_told(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("gotta.errors.import_module", missing)
    with pytest.raises(GottaError, match=r"gotta-tta\[slurm\]"):
        Slurm()


@pytest.mark.parametrize(
    ("gpus", "options", "words"), [(0.5, {}, "whole number"), (0, {"cluster": "moon"}, "cluster 'moon' is unknown")]
)
def test_what_slurm_cannot_do_is_refused(submitit, gpus, options, words):
    with pytest.raises(GottaError, match=words):
        Slurm(0, gpus, options=options)


def test_without_slurm_it_is_told(submitit, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GottaError, match="finds no Slurm here"):
        Slurm()


def test_what_sbatch_refuses_is_one_message(submitit, tmp_path, monkeypatch):
    refuse = "echo 'sbatch: error: invalid partition specified: typo' >&2\nexit 1"
    tools(tmp_path, monkeypatch, srun=refuse, sbatch=refuse)
    with pytest.raises(GottaError, match=r"Slurm does not take the jobs: .*invalid partition specified: typo"):
        run(tmp_path / "out", specs(1), lambda event: None, partition="typo")
    assert leftovers(tmp_path / "out") == []
