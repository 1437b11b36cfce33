"""The Slurm engine: on submitit's local executor, and on a real controller where one answers."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from experiment.tiny_sweep import completions, leftovers, numbers, recordings

from gotta import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.cell import Work
from gotta.experiment.sweep.engines import slurm as module
from gotta.experiment.sweep.engines.slurm import Slurm
from gotta.experiment.sweep.leases import Leases
from gotta.experiment.sweep.store import Store
from gotta.experiment.sweep.sweep import Sweep, sweep


def specs(count, per_class=10):
    given = {
        "method": {"name": "norm"},
        "memory": {"name": "fps", "capacity": 8},
        "stream": {"per_class": per_class, "domains": ["snow", "fog", "frost"]},
    }
    return [RunSpec.of({**given, "seed": seed}) for seed in range(count)]


@pytest.fixture
def submitit():
    return pytest.importorskip("submitit", reason="submitit is not installed: pip install 'gotta[slurm]'")


def run(root, cells, listen, record=(), **options):
    work = Work(str(root), snapshot_every=0.1, beat=0.1, record=frozenset(record))
    return Sweep(Store(root, writable=True), work, Slurm(2, options=options), listen).run(cells)


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

    cells = specs(3, per_class=40)
    assert run(tmp_path / "jobs", cells, listen) == []
    assert len(requeued) == 1
    assert numbers(tmp_path / "jobs") == expected(tmp_path, cells)
    assert "taken over" in [line["event"] for line in Leases(tmp_path / "jobs").history()]
    assert max(completions(tmp_path / "jobs").values()) == 1
    assert leftovers(tmp_path / "jobs") == []


def test_without_submitit_the_way_to_it_is_told(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", missing)
    with pytest.raises(GottaError, match=r"gotta\[slurm\]"):
        Slurm()


@pytest.mark.parametrize(("gpus", "options"), [(0.5, {}), (0, {"cluster": "moon"})])
def test_what_slurm_cannot_do_is_refused(submitit, gpus, options):
    with pytest.raises(GottaError, match="whole number of GPUs"):
        Slurm(0, gpus, options)


def test_without_slurm_it_is_told(submitit, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GottaError, match="finds no Slurm here"):
        Slurm()


def test_what_sbatch_refuses_is_one_message(submitit, tmp_path, monkeypatch):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("srun", "sbatch"):
        (tools / name).write_text("#!/bin/sh\necho 'sbatch: error: invalid partition specified: typo' >&2\nexit 1\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(GottaError, match=r"Slurm does not take the jobs: .*invalid partition specified: typo"):
        run(tmp_path / "out", specs(1), lambda event: None, partition="typo")
    assert leftovers(tmp_path / "out") == []
