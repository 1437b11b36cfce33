"""Whole runs on data sets from files: arguments in the spec, many classes with few slots, workers."""

import numpy as np
import pytest
import torch
from data.image_files import by_class, write_zip
from tiny import seeded_net

from gotta import GottaError
from gotta.data.local.make_cifar_c import make_cifar_c
from gotta.experiment.run import loaded as running
from gotta.experiment.run.run import run
from gotta.experiment.spec.run_spec import RunSpec
from gotta.models import Backbone
from gotta.models.backbone import Input


class Small(Backbone):
    def __init__(self, classes):
        super().__init__(Input(64), classes)
        self.net = seeded_net(classes=classes)

    def features(self, x):
        x = torch.relu(self.net.bn1(self.net.conv1(x)))
        return torch.relu(self.net.bn2(self.net.conv2(x))).mean((2, 3))

    def classify(self, features):
        return self.net.fc(features)


def spec(**changes):
    return RunSpec.of({"method": {"name": "norm"}, "memory": {"name": "fps", "capacity": 64}, **changes})


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(running, "share_model", lambda *arguments, **more: Small(200))


def without_time(result):
    steps, summary = result
    return [{k: v for k, v in step.items() if k != "cost"} for step in steps], summary["online"], summary["buffer"]


def test_two_hundred_classes_and_64_slots(needed, small):
    path = str(needed("tinyimagenet_val.zip"))
    made = spec(
        data={"name": "tinyimagenet", "path": path},
        stream={"domains": ["contrast", "brightness"], "limit": 160, "choose": "random"},
    )
    steps, summary = run(made)
    assert summary["online"]["samples"] == 320
    assert summary["stream"]["classes"] > 64
    assert 0 < summary["buffer"]["rows"] <= 64
    assert summary["adaptations"] == 5
    assert without_time(run(made, workers=0)) == without_time((steps, summary))


def test_arguments_are_part_of_the_run(tmp_path, small):
    classes = [f"c{k:03}" for k in range(200)]
    path = str(write_zip(tmp_path / "photos.zip", by_class(classes, 1, 16)))
    results = {}
    for seed in (0, 1):
        arguments = {"path": path, "size": 16, "table": "cifar", "seed": seed}
        made = spec(data={"name": "folder", **arguments}, stream={"domains": ["shot_noise"], "limit": 64})
        results[made.id] = run(made)[1]["buffer"]
    first, second = results.values()
    assert first != second


def test_cifar_10_c_by_path(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), dtype=np.uint8)
    make_cifar_c(images, np.arange(40) % 10, tmp_path, ("fog",))
    made = spec(data={"name": "cifar10_c", "path": str(tmp_path)}, stream={"domains": ["fog"]})
    assert run(made)[1]["online"]["samples"] == 40


def test_every_mistake_in_the_arguments_is_told():
    with pytest.raises(GottaError) as caught:
        spec(data={"name": "folder", "sise": 3}, stream={"gama": 1})
    assert all(part in str(caught.value) for part in ("'sise' is unknown", "needs the argument 'path'", "'gama'"))
    with pytest.raises(GottaError, match=r"data set 'imagnet_c' is unknown. Did you mean 'imagenet_c'"):
        spec(data={"name": "imagnet_c"})
