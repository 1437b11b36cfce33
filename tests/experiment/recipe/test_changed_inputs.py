"""A run says which weights it used, and is not taken for one of another file with the same name."""

import hashlib
import os

import pytest
import torch

from gotta import GottaError
from gotta.cli.plan import told
from gotta.experiment.recipe.changed_inputs import check_same_inputs
from gotta.experiment.recipe.recipe import Recipe
from gotta.experiment.run.run import run
from gotta.experiment.run.snapshots import Snapshots
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.cell import Work, execute
from gotta.experiment.sweep.store import Store
from gotta.models import load

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
    recipe = Recipe.model_validate({"title": "t", "base": {}, "cells": [{"method": ["source"]}]})
    with pytest.raises(GottaError, match="used other weights"):
        told(None, recipe, [made], [], store, 1, "cpu", False)  # before it prints a word
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
