"""TRIBE beside its published code."""

import pytest
import torch
from rivals import STREAM, assert_same, assert_same_parameters, assert_same_state, build, published, run
from tiny import seeded_net
from torch import nn

from gotta import GottaError

FLIP = {"augment": lambda x: x.flip(3)}


@pytest.mark.parametrize(("name", "share"), [("tribe", 0.0), ("tribe_gamma", 0.3)])
def test_the_published_trajectory(name, share):
    recorded = published(name)
    model = build("tribe", margin=0.3, share=share, rate=0.05, **FLIP)
    assert_same(run(model)[0], recorded["logits"], 2e-4)
    assert_same_state(model.method.model, recorded, "student", 12)
    assert_same_state(model.method.teacher, recorded, "aux", 12)


def test_student_and_teacher_share_parameters_and_not_statistics():
    model = build("tribe", margin=1.0, **FLIP)
    for _ in range(2):
        model(STREAM[0])
        method = model.method
        assert method.teacher.bn1.weight is method.model.bn1.weight
        assert not torch.equal(method.teacher.bn2.running_mean, method.model.bn2.running_mean)
        model.reset()


def test_all_classes_count_alike_however_many_samples_they_have():
    layer = build("tribe", seeded_net(), rate=0.5).model.bn1.train()
    x = torch.cat([torch.full((9, 8, 2, 2), 1.0), torch.full((1, 8, 2, 2), -1.0)])
    layer.momentum, layer.label = 0.5, torch.tensor([0] * 9 + [1])
    layer(x)
    torch.testing.assert_close(layer.class_mean[:3, 0], torch.tensor([1.0, -0.5, 0.0]))
    torch.testing.assert_close(layer.running_mean[0], torch.tensor(0.05))


def test_no_sure_sample_no_step():
    model = build("tribe", margin=0.0, **FLIP)
    start = model.model.bn1.weight.clone()
    assert model.step(STREAM[0]).diagnostics == {"kept": 0}
    assert torch.equal(model.model.bn1.weight, start)


def test_published_code_moves_on_where_no_sample_is_sure():
    recorded, model = published("tribe_empty"), build("tribe", margin=0.025, rate=0.05, quirks="published", **FLIP)
    logits, measured = run(model)
    assert [seen["kept"] for seen in measured].count(0) == 2
    assert_same(logits, recorded["logits"], 2e-4)
    assert_same_parameters(model, recorded)


def test_a_network_that_does_not_tell_its_classes_is_refused():
    with pytest.raises(GottaError, match="how many"):
        build("tribe", nn.Sequential(nn.Conv2d(3, 10, 16), nn.BatchNorm2d(10), nn.Flatten()))
