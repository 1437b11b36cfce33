import pytest
from small_recipe import ONE, RECIPE

from gotta import GottaError, plan
from gotta.experiment.spec import best_rates


def test_a_plan_tells_cells_counts_and_what_is_missing_and_writes_nothing(tmp_path):
    planned = plan(RECIPE, out=tmp_path / "out")
    assert len(planned.specs) == len(planned.todo) == 16
    assert planned.missing == []
    text = str(planned)
    assert text.splitlines()[0] == "Two methods, two memories: small! (the paper's table 9)"
    assert "runs per seed" in text
    assert "seed 1: 8 runs, 0 finished before\n16 runs, 0 finished before, 16 to do" in text
    assert planned.estimate().seconds > 0
    assert planned.labels[planned.specs[-1].id] == "tent + fps, seed 1, capacity=8, epsilon=0.2"
    assert not (tmp_path / "out").exists()


def test_what_is_missing_comes_first_and_stops_a_run_before_a_folder_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    planned = plan(ONE, data="cifar10_c", out=tmp_path / "out")
    assert str(planned).startswith("1 thing is missing for these runs:\n  - data set 'cifar10_c'")
    assert planned.missing[0].command == "gotta data download cifar10-c --unpack  # 2.9 GB"
    with pytest.raises(GottaError, match=r"1 thing is missing(.|\n)*gotta data download"):
        planned.run()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"jobs": -1}, "jobs=-1"),
        ({"threads": 0}, "threads=0"),
        ({"snapshot_every": 0}, "snapshot_every=0"),
        ({"snapshot_every": float("nan")}, "snapshot_every=nan"),
        ({"device": "cuda:99"}, "device 'cuda:99' cannot be used"),
        ({"engine": "rai"}, "Did you mean 'ray'"),
        ({"engine": 3}, "engine 3 cannot run anything"),
        ({"log": ["tensorbord"]}, "Did you mean 'tensorboard'"),
    ],
)
def test_what_cannot_be_used_is_told_before_anything_runs(tmp_path, how, words):
    with pytest.raises(GottaError, match=words):
        plan(ONE, out=tmp_path / "out").run(**how)
    assert list(tmp_path.glob("out/runs/*")) == []


def test_a_plan_knows_what_is_finished_damaged_and_recorded(tmp_path):
    first = plan(RECIPE, seeds=[0], memory="fps", method="norm", record=True, out=tmp_path)
    assert first.notices()[0].startswith("Recording 3 of the 3 runs of seed 0.")
    first.run()
    assert plan(RECIPE, seeds=[0], method="norm", out=tmp_path).todo == []
    victim = first.specs[0].id
    (tmp_path / "runs" / victim / "summary.json").write_text("{")
    again = plan(RECIPE, seeds=[0, 1], method="norm", record=True, out=tmp_path)
    assert [spec.id for spec in again.todo] == [victim, *(spec.id for spec in again.specs[3:])]
    damaged, recording = again.notices()
    assert damaged.startswith(f"Damaged: run {victim}: summary.json is not valid JSON")
    assert recording == "Recording 0 of the 3 runs of seed 0; 3 were recorded before."


def test_cells_without_effect_are_announced(tmp_path):
    (notice,) = plan(ONE, model="vit-mini", out=tmp_path).notices()
    assert notice.startswith("No effect: norm on vit-mini")


def test_rows_without_a_measured_best_rate_are_left_out_and_said_to_be(tmp_path, monkeypatch):
    monkeypatch.setattr(best_rates, "best_rates", lambda: {("norm", "fifo"): 0.1})
    block = {"method": ["norm"], "memory": ["fifo", "fps"], "settings": {"method": {"rate": "best"}}}
    found = plan({**ONE, "cells": [*ONE["cells"], block]}, out=tmp_path)
    assert {spec.memory.name for spec in found.specs if spec.method.rate == 0.1} == {"fifo"}
    assert "best rate is not measured yet (gotta bench statistics): norm + fps." in "".join(found.notices())
    assert "measured" not in "".join(plan(ONE, out=tmp_path).notices())


def test_a_dirichlet_order_that_is_meant_to_be_iid_is_announced(tmp_path):
    (notice,) = plan(ONE, settings={"stream.gamma": 100}, out=tmp_path).notices()
    assert notice.startswith("gamma=100 does not make a Dirichlet order i.i.d.")
