"""What the local engine tells its workers, with a made-up list of GPUs and cells that compute nothing."""

import os
from collections import Counter
from time import sleep

import pytest

from gotta import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.cell import Event, Work
from gotta.experiment.sweep.engines import local
from gotta.experiment.sweep.engines.local import Local, choose_gpus, find_gpus

SPECS = [RunSpec.of({"seed": seed}) for seed in range(6)]


def say_where(spec, work, listen):
    """Instead of a run: which process has which GPU."""
    listen(Event("finished", spec.id, message=f"{os.getpid()} {os.environ.get('CUDA_VISIBLE_DEVICES')}"))


def run(monkeypatch, tmp_path, engine, execute=say_where):
    """The number of processes with each GPU."""
    monkeypatch.setattr(local, "execute", execute)
    monkeypatch.setattr(local.forking, "START", "fork")
    heard = []
    engine.run(SPECS, Work(str(tmp_path), device="cuda"), heard.append)
    assert sorted(event.id for event in heard) == sorted(spec.id for spec in SPECS)
    return Counter(place.split()[1] for place in {event.message for event in heard})


@pytest.mark.skipif(os.name == "nt", reason="no fork on Windows")
def test_every_worker_has_a_gpu_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b,GPU-c")
    asked = run(monkeypatch, tmp_path, Local(gpus=2))
    assert asked == {"GPU-a": 1, "GPU-b": 1}, "one process for each of the GPUs that were asked for"
    every = run(monkeypatch, tmp_path, Local())
    assert every == {"GPU-a": 1, "GPU-b": 1, "GPU-c": 1}, "all of them if no number is given"
    shared = run(monkeypatch, tmp_path, Local(jobs=4, gpus=2))
    assert shared == {"GPU-a": 2, "GPU-b": 2}, "two cells share each GPU"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-a,GPU-b,GPU-c"


@pytest.mark.skipif(os.name == "nt", reason="no fork on Windows")
def test_the_gpu_of_a_dead_worker_is_given_again(monkeypatch, tmp_path):
    def die_once(spec, work, listen):
        if os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-a" and not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os._exit(1)
        sleep(0.2)  # so that some cells are left when that is noticed
        say_where(spec, work, listen)

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b")
    assert run(monkeypatch, tmp_path, Local(), die_once) == {"GPU-a": 1, "GPU-b": 1}


@pytest.mark.parametrize(("named", "found"), [("3,1", ["3", "1"]), ("", []), ("0,-1,2", ["0"]), ("-1", [])])
def test_the_gpus_of_this_process(monkeypatch, named, found):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    assert find_gpus() == found


def test_gpus_that_cannot_be_had(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    with pytest.raises(GottaError, match=r"whole number of at most 2.*: 0, 1"):
        choose_gpus(3, "cuda")
    with pytest.raises(GottaError, match="--jobs 16 --gpus 8"):
        choose_gpus(0.5, "cuda")
    with pytest.raises(GottaError, match=r"needs the device 'cuda'.*got 'cpu'"):
        choose_gpus(1, "cpu")
    assert choose_gpus(0, "cuda:1") == []
