import json
from pathlib import Path

import numpy as np
import pytest
import torch

from gotta.data.sets.video_sets import gtsrb
from gotta.models import architectures, load, record
from gotta.models.zoo import WEIGHTS
from gotta.train import accuracy_on

RECORDS = Path(__file__).parents[2] / "docs" / "results"


def test_has_the_keys_and_blocks_of_resnet18_at_a_quarter_of_its_width():
    model = architectures.build("resnet18-small", num_classes=1000)
    names = list(model.state_dict())
    assert len(names) == 122  # as the published ResNet-18
    assert {"conv1.weight", "bn1.running_var", "layer1.0.conv2.weight", "layer4.1.bn2.bias", "fc.bias"} <= set(names)
    assert [name for name in names if name.endswith("downsample.0.weight")] == [
        f"layer{stage}.0.downsample.0.weight" for stage in (2, 3, 4)
    ]
    # 11,689,512 of ResNet-18 with its 7 x 7 stem: kernels shrink with the square of the width, the rest with the width.
    kernels, norms, head = 11_166_912 - 9_408, 9_600, 512 * 1000
    assert sum(p.numel() for p in model.parameters()) == kernels // 16 + 3 * 16 * 9 + norms // 4 + head // 4 + 1000


def test_halves_the_side_three_times_and_takes_other_sizes():
    model = architectures.build("resnet18-small", num_classes=7).eval()
    assert model(torch.rand(2, 3, 32, 32)).shape == (2, 7)
    assert model.features(torch.rand(1, 3, 48, 48)).shape == (1, 128)
    x = torch.rand(1, 16, 32, 32)
    assert model.layer4(model.layer3(model.layer2(model.layer1(x)))).shape == (1, 128, 4, 4)


def test_shipped_signs_network_is_small_and_says_how_it_was_trained():
    path = WEIGHTS / "resnet18-signs.safetensors"
    assert path.stat().st_size <= 3_000_000
    shipped = record("resnet18-signs")
    training = shipped["training"]
    assert shipped["architecture"] == training["settings"]["architecture"] == "resnet18-small"
    assert shipped["num_classes"] == len(training["classes"]) == 43
    assert training["settings"]["flip"] is False  # a sign that points left is another sign
    assert training["source"] == {"file": "gtsrb_tracks.zip", "held_out_of": 4, "every": 3}
    assert (training["images"], training["test_images"]) == (9_960, 9_329)
    assert training["test_accuracy"] >= 93
    assert json.loads((RECORDS / "training-resnet18-signs.json").read_text()) == shipped


def held_out(needed, monkeypatch, every):
    monkeypatch.setenv("GOTTA_DATA", str(needed("gtsrb_tracks.zip").parent))
    data = gtsrb(every=every)
    return data.images("clean", np.arange(len(data.labels))), data.labels


def test_signs_network_on_some_frames_of_all_held_out_tracks(needed, monkeypatch):
    images, labels = held_out(needed, monkeypatch, 15)
    assert len(labels) == 2 * 311
    assert accuracy_on(load("resnet18-signs"), images, labels) >= 93


@pytest.mark.slow
def test_signs_network_has_its_recorded_accuracy_on_the_held_out_tracks(needed, monkeypatch):
    images, labels = held_out(needed, monkeypatch, 1)
    accuracy = accuracy_on(load("resnet18-signs"), images, labels)
    assert accuracy >= 93
    assert accuracy == pytest.approx(record("resnet18-signs")["training"]["test_accuracy"], abs=0.05)
