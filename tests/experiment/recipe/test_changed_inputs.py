"""A run says which weights it used, and is not taken for one of another file with the same name."""

import hashlib
import os
import shutil
import sys

import numpy as np
import pytest
import torch

from gotta import GottaError
from gotta.data.dataset import DATASETS
from gotta.experiment.recipe.missing import check_same_inputs
from gotta.experiment.run.run import run
from gotta.experiment.run.snapshots import Snapshots
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.cell import Work, execute
from gotta.experiment.sweep.store import Run, Store
from gotta.models import load
from gotta.models.zoo import save_model
from gotta.workflow import Plan

NAME = "w.pt"


@pytest.fixture
def file(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("GOTTA_DATA", str(folder))
    replace(folder / NAME, 0.0)
    return folder / NAME


def replace(path, bias):
    """Another network of the same shape, in the same number of bytes."""
    state = load("resnet20").state_dict()
    name = [key for key in state if key.endswith("bias")][-1]
    state[name] = state[name] + bias
    torch.save(state, path)
    replace.times = getattr(replace, "times", 0) + 1
    os.utime(path, (1e9 + replace.times,) * 2)  # file systems may tell times only by the second


def spec(**model):
    return RunSpec.of({"model": model, "regime": {"batch_size": 4}, "stream": {"domains": ["fog"], "limit": 8}})


def by_file():
    return spec(name="resnet20", weights=NAME)


def test_the_summary_tells_the_content_of_a_file_and_nothing_of_bundled_weights(file):
    assert run(by_file())[1]["weights_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert "weights_sha256" not in run(spec())[1]


def test_a_file_that_was_replaced_is_read_again(file):
    before = run(by_file())[1]
    replace(file, torch.linspace(50.0, -50.0, 10))
    after = run(by_file())[1]
    assert before["weights_sha256"] != after["weights_sha256"]
    assert before["online"] != after["online"]


def test_runs_of_a_replaced_file_are_not_reused_in_silence(file, tmp_path):
    store, made = Store(tmp_path / "runs", writable=True), by_file()
    execute(made, Work(str(store.root)), lambda event: None)
    kept = file.read_bytes()
    check_same_inputs([made], store)
    replace(file, 1.0)
    with pytest.raises(GottaError) as error:
        check_same_inputs([made, spec()], store)
    for words in ("1 finished runs in", str(store.root), f"'{NAME}'", "Put the old files back", "--out"):
        assert words in str(error.value)
    with pytest.raises(GottaError, match="used other weights"):
        Plan((made,), store)  # before anybody can look at it
    file.write_bytes(kept)
    check_same_inputs([made], store)
    file.unlink()
    check_same_inputs([made], store)


def test_a_snapshot_of_other_weights_is_not_continued(file, tmp_path):
    def stop(step, *_):
        if step == 2:
            raise InterruptedError

    folder, notices = tmp_path / "snapshot", []
    with pytest.raises(InterruptedError):
        run(by_file(), stop, snapshots=Snapshots(folder, 0.0))
    assert folder.exists()
    replace(file, torch.linspace(50.0, -50.0, 10))
    _, summary = run(by_file(), snapshots=Snapshots(folder, 0.0, notices.append))
    assert "another weights_sha256" in notices[0]
    assert summary["online"] == run(by_file())[1]["online"]


def test_runs_of_data_that_was_replaced_are_not_reused_in_silence(tmp_path):
    folder = tmp_path / "c"
    folder.mkdir()
    np.save(folder / "labels.npy", np.tile(np.arange(10), 5))
    np.save(folder / "snow.npy", np.zeros((50, 32, 32, 3), np.uint8))
    parts = {"data": {"name": "cifar10_c", "path": str(folder)}, "stream": {"domains": ["snow"]}}
    made = RunSpec.of({**parts, "regime": {"batch_size": 5}})
    store = Store(tmp_path / "runs", writable=True)
    execute(made, Work(str(store.root)), lambda event: None)
    assert len(store.read(made.id).summary["data_sha256"]) == 64
    assert (store.root / "data-hashes.json").exists()
    check_same_inputs([made], store)
    np.save(folder / "snow.npy", np.ones((50, 32, 32, 3), np.uint8))
    with pytest.raises(GottaError, match=r"1 finished runs in .* used other data 'cifar10_c'"):
        check_same_inputs([made], store)
    shutil.rmtree(folder)
    check_same_inputs([made], store)


def test_a_network_that_is_a_file_of_its_own_is_told_by_its_content(file, tmp_path):
    for value in (0.0, 1.0):
        model = load("resnet20")
        next(model.parameters()).data += value
        save_model(model, "resnet20", tmp_path / f"{value}.safetensors")
    digests = {run(spec(name=str(tmp_path / f"{value}.safetensors")))[1]["weights_sha256"] for value in (0.0, 1.0)}
    assert len(digests) == 2


def test_a_data_set_of_the_callers_is_not_imported_only_to_look(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(DATASETS, "_permitted", {})
    (tmp_path / "data_of_mine.py").write_text("raise AssertionError('imported')")
    made = RunSpec.of({"data": {"name": "data_of_mine:Mine"}}, imports=["data_of_mine"])
    store = Store(tmp_path / "runs", writable=True)
    parts = {"spec": made.model_dump(), "identity": made.identity, "environment": {}}
    store.write(Run(made.id, summary={"data_sha256": "a" * 64}, **parts), [])
    assert store.has(made.id)
    check_same_inputs([made], store, everything=False)
    assert "data_of_mine" not in sys.modules
