"""SoTTA beside its published code."""

import pytest
import torch
from rivals import STREAM, Told, assert_same, assert_same_parameters, build, published, run
from torch import nn

from gotta.memory import HUS

TWICE = "move_twice"


@pytest.mark.parametrize(("name", "quirks"), [("sotta", "published"), ("sotta_no_decay", TWICE)])
def test_the_published_trajectory(name, quirks):
    recorded = published(name)
    model = build("sotta", memory=Told(recorded["memory_ids"], 32), quirks=quirks)
    logits, measured = run(model)
    assert_same(logits, recorded["logits"])
    assert_same([seen[key] for seen in measured for key in ("loss", "sharp_loss")], recorded["losses"], 1e-5)
    assert_same_parameters(model, recorded, 2e-5)


@pytest.mark.parametrize(("quirks", "share"), [((), 0.2), (TWICE, 0.36)])
def test_the_statistics_move_once_unless_the_quirk_is_asked_for(quirks, share):
    model = build("sotta", memory="fifo", capacity=32, quirks=quirks, lr=1e-12, rho=0.0)
    before = model.model.bn1.running_mean.clone()
    model(STREAM[0])
    mean = model.model.conv1(STREAM[0]).mean((0, 2, 3))
    torch.testing.assert_close(model.model.bn1.running_mean, before + share * (mean - before), atol=1e-5, rtol=1e-4)


def test_its_own_memory_takes_only_what_is_sure():
    model = build("sotta", memory="hus", capacity=32)
    outcomes = [model.step(x) for x in STREAM]
    sure = torch.cat([outcome.prediction.probs.amax(1) >= 0.99 for outcome in outcomes])
    stored = torch.cat([outcome.slots >= 0 for outcome in outcomes])
    assert torch.equal(stored, sure)
    assert 0 < stored.sum() < len(stored)


def test_an_empty_memory_is_not_adapted_on():
    model = build("sotta", memory=HUS(threshold=1.1), capacity=32)
    assert model.step(STREAM[0]).diagnostics == {}
    assert not model.method.optimizer.state


def test_the_top_is_left_alone():
    net = nn.Sequential()
    net.layer1 = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))
    net.layer2, net.layer3 = (
        nn.Sequential(nn.Sequential(nn.BatchNorm2d(8)), nn.Sequential(nn.BatchNorm2d(8))) for _ in "ab"
    )
    net.layer4 = nn.Sequential(nn.BatchNorm2d(8), nn.Flatten(), nn.LazyLinear(10))
    net(torch.rand(2, 3, 16, 16))
    layers = ("layer1.1", "layer2.0.0", "layer2.1.0", "layer3.0.0", "layer3.1.0")
    trained = {f"{layer}.{part}" for layer in layers for part in ("weight", "bias")}
    assert set(build("sotta", net).method.trained) == trained
