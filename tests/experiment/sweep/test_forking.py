import multiprocessing
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from experiment.tiny_sweep import completions, sweep

from gotta import models
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep import forking
from gotta.experiment.sweep.store import Store


def specs(count, **model):
    given = {"method": {"name": "source"}, "stream": {"per_class": 1, "domains": ["snow"]}, "model": model}
    return [RunSpec.of({**given, "seed": seed}) for seed in range(count)]


pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(forking.START != "forkserver", reason="there is no fork server on this system"),
]


def told(pipe):
    pipe.send((os.getppid(), "torch._dynamo" in sys.modules, "gotta.experiment.sweep.engines.local" in sys.modules))


def test_workers_come_from_one_process_that_has_imported_what_they_need():
    forking.begin(1)
    context, seen = forking.workers_context(), []
    for _ in range(2):
        mine, theirs = context.Pipe()
        worker = context.Process(target=told, args=(theirs,))
        worker.start()
        seen.append(mine.recv())
        worker.join()
    assert seen[0] == seen[1]
    assert seen[0][0] != os.getpid()
    assert seen[0][1:] == (True, True)


def test_ctrl_c_is_left_to_this_process():
    forking.begin(1)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())
    status = Path(f"/proc/{_server()}/status")
    if status.exists():
        blocked = next(line for line in status.read_text().splitlines() if line.startswith("SigBlk")).split()[1]
        assert int(blocked, 16) & 1 << (signal.SIGINT - 1)


def test_a_sweep_goes_on_when_that_process_is_killed(tmp_path):
    store, killed = Store(tmp_path, writable=True), []

    def kill_once(event):
        if event.kind == "moved" and not killed:
            killed.append(_server())
            os.kill(killed[0], signal.SIGKILL)

    assert sweep(specs(6), store, 2, 1, kill_once) == []
    assert completions(tmp_path) == {spec.id: 1 for spec in specs(6)}, "its workers go on"
    assert sweep(specs(8), store, 2, 1, lambda event: None) == []
    assert {run.id for run in store.runs()} == {spec.id for spec in specs(8)}
    assert _server() != killed[0], "the next workers come from another one"


def test_workers_see_what_was_set_after_that_process_began(tmp_path, monkeypatch):
    forking.begin(1)
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(Path(models.__file__).parent / "weights" / "resnet20.safetensors", home / "mine.safetensors")
    monkeypatch.setenv("GOTTA_DATA", str(home))
    store = Store(tmp_path / "runs", writable=True)
    assert sweep(specs(2, weights="mine.safetensors"), store, 2, 1, lambda event: None) == []
    assert len(store.runs()) == 2


def _server():
    return multiprocessing.forkserver._forkserver._forkserver_pid
