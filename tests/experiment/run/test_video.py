"""Runs on streams of clips."""

import numpy as np
import pytest
import torch
from data.video_files import write_sheets, write_tracks

from gotta import GottaError
from gotta.experiment.recipe.recipe import load_recipe
from gotta.experiment.run.run import run
from gotta.experiment.spec.run_spec import RunSpec
from gotta.models import load

SHORT = {"order": "dirichlet", "schedule": "one", "domains": "gaussian_noise", "clips": 3, "frames": 8}


def spec(**changes):
    return RunSpec.of(
        {
            "data": {"name": "cifar10-mini-video"},
            "stream": {**SHORT, "choose": "random"},
            "method": {"name": "norm"},
            "memory": {"name": "fps", "capacity": 8},
            "regime": {"reset": "each_domain"},
            **changes,
        }
    )


def test_a_run_on_pseudo_video_needs_nothing_but_gotta(monkeypatch):
    monkeypatch.delenv("GOTTA_DATA", raising=False)
    steps, summary = run(spec())
    assert [step["samples"] for step in steps] == [8, 8, 8]
    assert summary["stream"]["classes_per_batch"] == 1.0  # a batch is a clip here
    assert summary["online"]["samples"] == 24
    assert run(spec())[1]["online"] == summary["online"]


def test_a_run_on_tracks_with_the_network_for_them(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    write_sheets(tmp_path / "gtsrb_tracks.zip", [(label, 2) for label in range(43)], frames=2, side=32)
    _, summary = run(
        spec(data={"name": "gtsrb"}, model={"name": "resnet18-signs"}, stream={**SHORT, "clips": 43, "frames": 1})
    )
    assert summary["stream"]["samples"] == summary["stream"]["classes"] == 43


def test_arguments_of_the_data_set_are_part_of_the_spec(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    write_sheets(tmp_path / "gtsrb_tracks.zip", [(label, 2) for label in range(43)], frames=4, side=32)
    data = {"name": "gtsrb", "split": "train", "every": 2}
    _, summary = run(spec(data=data, model={"name": "resnet18-signs"}, stream={**SHORT, "clips": 43, "frames": None}))
    assert summary["stream"]["samples"] == 86
    with pytest.raises(GottaError, match=r"argument of data set 'gtsrb' 'evry' is unknown. Did you mean 'every'"):
        spec(data={"name": "gtsrb", "evry": 2})


def test_the_recipe_is_the_papers_setting_on_real_tracks_and_quick_without_them():
    full, quick = load_recipe("signs").runs(), load_recipe("signs").runs("quick")
    for specs in (full, quick):
        assert {s.method.name for s in specs} == {"source", "norm", "rotta", "note", "tent"}
        assert {s.memory.capacity for s in specs} == {32}
        for s in specs:
            assert (s.stream["order"], s.stream["gamma"], s.stream["domains"]) == ("dirichlet", 0.1, "gaussian_noise")
            assert s.regime.reset == "each_domain"
    assert {(s.data.name, s.model.name, s.stream["frames"]) for s in full} == {("gtsrb", "resnet18-signs", 30)}
    assert {(s.data.name, s.model.name, s.stream["frames"]) for s in quick} == {("cifar10-mini-video", "resnet20", 32)}


def test_the_networks_classes_are_those_of_the_tracks(needed, monkeypatch):
    from gotta.data.sets.video_sets import gtsrb
    from gotta.models import record

    monkeypatch.setenv("GOTTA_DATA", str(needed("gtsrb_tracks.zip").parent))
    data = gtsrb(every=30)
    assert list(data.classes) == record("resnet18-signs")["training"]["classes"]
    assert len(np.unique(data.labels)) == 43


def test_the_papers_itd_table_and_quick_without_its_data():
    full, quick = load_recipe("itd").runs(), load_recipe("itd").runs("quick")
    memories = {"none", "reservoir", "pbrs", "cstu", "cds", "fps"}
    for method in ("norm", "rotta", "note"):
        assert {s.memory.name for s in full if s.method.name == method and not s.control} == memories
    for s in full:
        assert (s.data.name, s.model.name) == ("itd", "resnet18")
        wanted = {"gamma": 0.1, "domains": "gaussian_noise", "severity": 5, "clips": 1024, "frames": 32}
        assert wanted.items() <= s.stream.items()
        assert (s.memory.capacity, s.regime.reset) == (32, "each_domain")
    assert {(s.data.name, s.model.name, s.model.weights) for s in quick} == {("cifar10-mini-video", "resnet20", None)}


@pytest.mark.slow
def test_a_cell_of_the_itd_table_on_files_in_its_layout(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    write_tracks(tmp_path / "itd", classes=("bear", "boat", "bus"), tracks=2, frames=3, suffix="jpg")
    network = load("resnet18", weights="random", num_classes=3)
    torch.save(network.state_dict(), tmp_path / "itd-resnet18.pth")
    specs = load_recipe("itd").runs(stream={"clips": 5, "frames": 2}, memory={"capacity": 4})
    chosen = [s for s in specs if (s.method.name, s.memory.name, s.control) == ("rotta", "fps", None)]
    _, summary = run(chosen[0])
    assert summary["stream"]["samples"] == 10
    assert summary["adaptations"] == 2
