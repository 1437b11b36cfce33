"""`gotta bench` as a user types it."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml
from cli.shell import ENVIRONMENT, MINE, as_in_a_shell, gotta  # noqa: F401
from small_recipe import RECIPE


def test_a_dry_run_says_how_many_how_long_and_takes_settings(tmp_path):
    arguments = ("bench", "table1", "--quick", "--method", "tent", "--memory", "fps", "--out", tmp_path, "--dry-run")
    shown = gotta(*arguments, "stream.per_class=1", "method.lr=1e-4")
    assert "7 runs, 0 finished before, 7 to do" in shown
    assert re.search(r"runs per seed +tent\nnone +1\nfps +1\ncontrol: running statistics +1\n", shown)
    assert "seed 0: 7 runs, 0 finished before\n" in shown
    assert "tent + fps, seed 0" not in shown
    assert re.search(r"\n  [0-9a-f]{16}  tent \+ fps, seed 0\n", gotta(*arguments, "stream.per_class=1", "--ids"))
    assert re.search(r"about \d+ (s|min)", shown)
    assert not (tmp_path / "runs").exists()
    assert "Did you mean 'method.lr'" in gotta(*arguments, "method.lrr=1", code=2)


@pytest.mark.parametrize(
    "where",
    [
        ("--engine", "ray", "--gpus", "0.5"),
        (
            "--engine",
            "local",
        ),
    ],
)
def test_a_device_that_is_not_here_is_not_timed(tmp_path, where):
    if where[1] == "ray":
        pytest.importorskip("ray")
    shown = gotta("bench", "--quick", "--device", "cuda", "--out", tmp_path, "--dry-run", *where)
    assert "forwards of one image, a backward being two (not timed" in shown.replace("\n", " ")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--gpus", "8", "--jobs", "2"), "gpus=8 needs the device 'cuda'"),
        (("--gpus", "8", "--device", "cuda"), "gpus=8: expected a whole number of at most 0, the GPUs of this machine"),
        (("--gpus", "0.5", "--device", "cuda"), "More jobs than GPUs share them"),
        (("--engine", "ray", "--gpus", "nan"), "gpus=nan, pack=1: expected a number of GPUs, or a share of one"),
        (("--engine", "ray", "--gpus", "1.5"), "gpus=1.5, pack=1: expected a number of GPUs, or a share of one"),
        (("--engine", "ray", "--device", "cuda"), "Ray shows a cell the GPUs that it asks for"),
        (("--engine", "ray", "--device", "quantum"), "device 'quantum' cannot be used"),
        (("--log", "nosuch"), "logger 'nosuch' is unknown"),
        (("--out", "s3://"), "names no bucket"),
    ],
)
def test_a_dry_run_finds_what_the_run_would_refuse(tmp_path, monkeypatch, options, words):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert words in gotta("bench", "--quick", "--out", tmp_path, "--dry-run", *options, code=2).replace("\n", " ")


def test_what_is_missing_is_said_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    shown = gotta("bench", "mini", "--data", "cifar10", "--model", "none.safetensors", "--out", tmp_path / "o", code=2)
    assert "2 things are missing" in shown
    assert "cifar-10-python.tar.gz" in shown
    assert "\n    gotta data download cifar10  # 170 MB\n" in shown
    assert "none.safetensors" in shown
    told = gotta("bench", "mini", "--data", "cifar10", "--dry-run", "--out", tmp_path / "o", code=1, stream="out")
    assert told.startswith("1 thing is missing for these runs:")
    assert told.index("gotta data download") < told.index("runs per seed")
    assert not (tmp_path / "o").exists()


def test_what_no_download_would_bring_is_one_line(tmp_path):
    told = gotta("bench", "mini", "--data", "folder", f"data.path={tmp_path / 'no'}", "--out", tmp_path / "o", code=2)
    assert told.startswith(f"gotta: nothing at '{tmp_path / 'no'}', where data set 'folder' should be.")
    assert len(told.splitlines()) == 1


def test_hours_are_estimated_of_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    small = ("table1", "--model", "resnet20", "--method", "norm", "--memory", "fps", "--seeds", "0")
    told = gotta("bench", *small, "--dry-run", "--out", tmp_path / "o", code=1, stream="out")
    assert told.startswith("1 thing is missing for these runs:")
    assert "Once everything is here: about " in told


@pytest.mark.thorough
def test_a_recorded_sweep_records_its_first_seed_and_says_what_is_run_again(tmp_path):
    recipe = {**RECIPE, "cells": [{"method": ["norm"], "memory": ["fifo"], "control": ["same_samples"]}]}
    (tmp_path / "small.yaml").write_text(yaml.safe_dump(recipe))
    arguments = ("bench", tmp_path / "small.yaml", "--seeds", "4,2", "--jobs", 1, "--out", tmp_path)
    (tmp_path / "runs").mkdir()
    told = gotta(*arguments, "--dry-run", "--ids")
    runs, others = (len(re.findall(f", seed {seed}", told)) for seed in (4, 2))
    assert runs == others == 2
    gotta(*arguments)
    shown = gotta(*arguments, "--record", "--dry-run")
    assert f"{runs + others} runs, {others} finished before, {runs} to do" in shown
    assert (
        f"Recording {runs} of the {runs} runs of seed 4. {runs} of them {'is' if runs == 1 else 'are'} run again for it"
        in shown
    )
    gotta(*arguments, "--record")
    recorded = {path.stem for path in (tmp_path / "records").glob("*.json")}
    seeds = {json.loads((tmp_path / "runs" / id / "spec.json").read_text())["seed"] for id in recorded}
    assert (len(recorded), seeds) == (runs, {4})
    assert f"Recording 0 of the {runs} runs of seed 4; {runs} were recorded before." in gotta(*arguments, "--record")


def test_a_policy_of_ones_own_in_one_file(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    settings = ("method.name=norm", "memory.name=mine:Newest", "memory.capacity=8", "stream.per_class=1")
    shown = gotta("run", *settings, "stream.domains=snow", "--out", tmp_path / "out", cwd=tmp_path)
    del sys.modules["mine"]
    assert "mine:Newest" in shown


def test_an_unwritable_folder_is_told_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    assert "file" in gotta("bench", "--quick", "--out", tmp_path / "file" / "below", code=2)


def test_a_damaged_run_is_told_and_run_again(tmp_path):
    recipe = tmp_path / "r.yaml"
    recipe.write_text(
        "title: Two\nbase: {stream: {per_class: 1, domains: [snow]}, memory: {capacity: 8}}\n"
        "seeds: [0]\ncells: [{method: [norm], memory: [fifo, fps]}]"
    )
    bench = ("bench", recipe, "--out", tmp_path / "out", "--jobs", "1")
    assert "Damaged" not in gotta(*bench)
    victim = sorted((tmp_path / "out" / "runs").iterdir())[0]
    (victim / "summary.json").write_text("{")
    shown = gotta(*bench)
    assert f"Damaged: run {victim.name}: summary.json is not valid JSON" in shown
    assert "1 finished before, 1 to do" in shown
    assert "Damaged" not in gotta(*bench)


def test_a_copied_run_is_told_and_counts_nowhere(tmp_path):
    settings = (
        "method.name=norm",
        "memory.name=fifo",
        "memory.capacity=8",
        "stream.per_class=1",
        "stream.domains=snow",
    )
    gotta("run", *settings, "--out", tmp_path / "out")
    (run,) = (tmp_path / "out" / "runs").iterdir()
    shutil.copytree(run, run.with_name("copy"))
    shown = gotta("run", *settings, "--out", tmp_path / "out")
    assert f"Damaged: run copy: what it holds is run {run.name}: it was renamed, copied or edited. It counts" in shown
    assert "1 finished, 1 damaged" in gotta("status", tmp_path / "out")


def test_failed_runs_are_told_even_if_there_is_no_report(tmp_path):
    (tmp_path / "bad.py").write_text(MINE.replace("return Decision", "raise ValueError('mine') or Decision"))
    recipe = tmp_path / "r.yaml"
    recipe.write_text(
        "title: Two\nbase: {stream: {per_class: 1, domains: [snow]}, memory: {capacity: 8}}\n"
        'seeds: [0]\nimports: [bad]\ncells: [{method: [norm], memory: [fifo, "bad:Newest"]}]'
    )
    (tmp_path / "out" / "tables.md").mkdir(parents=True)
    shown = gotta("bench", recipe, "--out", tmp_path / "out", "--jobs", "1", cwd=tmp_path, code=2)
    assert "1 runs failed; the others are kept" in shown
    assert "ValueError: mine" in shown
    assert "There is no report: cannot write" in shown


def test_dry_run_only_tells(tmp_path):
    shown = gotta("bench", "--dry-run", "--ids", "--memory", "fps", cwd=tmp_path)
    runs = len(re.findall(", seed 1", shown))
    assert f"seed 1: {runs} runs, 0 finished before" in shown
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def hears_ctrl_c():
    """In a background job of a shell, SIGINT is ignored, and would be by every process that a test starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_continues(tmp_path):
    recipe = tmp_path / "r.yaml"
    recipe.write_text(
        "title: Interrupted\nbase: {stream: {per_class: 4, domains: [snow, fog, frost]}, memory: {capacity: 8}}\n"
        "seeds: [0, 1, 2, 3, 4, 5]\ncells: [{method: [norm], memory: [fifo, fps]}]"
    )
    command = [sys.executable, "-m", "gotta.cli", "bench", str(recipe), "--out", "out", "--jobs", "1"]
    process = subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    finished = tmp_path / "out" / "runs"
    while not (finished.is_dir() and any(not path.name.startswith(".") for path in finished.iterdir())):
        time.sleep(0.05)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    shown, _ = process.communicate(timeout=60)
    assert process.returncode == 130, shown
    assert "continues where it was" in shown
    kept = int(re.search(r"(\d+) of 12 runs are finished", shown)[1])
    assert 1 <= kept < 12
    assert f"{kept} finished before" in gotta("bench", recipe, "--out", "out", cwd=tmp_path)
