"""The forwards and backwards of a method: counted, and without effect where a loss is not finite."""

import pytest
import torch
from tiny import seeded_net

from gotta import adapt
from gotta.cost import Cost

X = torch.rand(6, 3, 8, 8, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def method():
    return adapt(seeded_net(), "tent", pairing="paper", optimizer="sgd", lr=0.1).method


def weights(method):
    return {name: p.detach().clone() for name, p in method.trained.items()}


def moved(method, before):
    return [name for name, p in method.trained.items() if not torch.equal(p, before[name])]


def test_what_is_trained_are_scale_and_shift(method):
    assert set(method.trained) == {"bn1.weight", "bn1.bias", "bn2.weight", "bn2.bias"}


def test_every_forward_and_backward_is_counted(method):
    method.cost = Cost()
    loss = method.training_logits(X).square().sum()
    method.logits(X[:2])
    method.backward(loss)
    counted = method.cost.summary()["total"]
    assert (counted["forwards"], counted["backwards"], counted["samples"]) == (2, 1, 8)


def test_a_loss_that_is_not_finite_changes_nothing(method):
    before = weights(method)
    method.descend(method.training_logits(X).sum() * float("nan"))
    assert moved(method, before) == []
    method.descend(method.training_logits(X).square().sum())
    assert moved(method, before) == list(before)


def test_coasting_moves_by_momentum_alone(method):
    method.optimizer.param_groups[0]["momentum"] = 0.9
    before = weights(method)
    method.coast()
    assert moved(method, before) == [], "nothing is under way yet"
    method.descend(method.training_logits(X).square().sum())
    before = weights(method)
    method.coast()
    assert moved(method, before) == list(before)


def test_one_row_of_single_pixels_falls_back_on_the_statistics_there_are(method):
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.BatchNorm1d(12)).train()
    method.model, before = net, net[1].running_mean.clone()
    x = torch.rand(1, 3, 2, 2)
    expected = torch.nn.functional.batch_norm(x.flatten(1), net[1].running_mean, net[1].running_var)
    assert torch.allclose(method.logits(x), expected)
    assert torch.equal(net[1].running_mean, before)
    assert net[1].training
