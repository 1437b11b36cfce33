"""COME, a loss for others, beside its published code: TENT, EATA and SAR with it, on a network of 1000 classes."""

import pytest
import torch
from rivals import COMMON, STREAM, assert_same, assert_same_parameters, build, published
from tiny import golden_net
from torch import nn

from gotta import GottaError
from gotta.methods.parts.losses import opinion_entropy

SGD = {"lr": 1e-3, "optimizer": "sgd", "loss": "come"}


def wide_net():
    net, draws = golden_net(COMMON), torch.Generator().manual_seed(0)
    net.fc = nn.Linear(16, 1000)
    with torch.no_grad():
        net.fc.weight.copy_(torch.randn(1000, 16, generator=draws))
        net.fc.bias.copy_(torch.randn(1000, generator=draws))
    return net


@pytest.mark.parametrize(
    ("name", "method", "settings"),
    [
        ("come_tent", "tent", SGD),
        ("come_eta", "eta", {**SGD, "e_margin": 6.8, "d_margin": 0.4}),
        ("come_sar", "sar", {**SGD, "e_margin": 6.8}),
    ],
)
def test_the_published_trajectory(name, method, settings):
    recorded, model = published(name), build(method, wide_net(), num_classes=1000, **settings)
    for x in STREAM[:, :8]:
        logits = model(x)
    assert_same(logits, recorded["last_logits"], 5e-4)
    assert_same_parameters(model, recorded)


def test_an_opinion_by_hand():
    logits = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    parts = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]).exp()
    parts = torch.cat([parts, torch.full((2, 1), 3.0)], 1)
    parts = parts / parts.sum(1, keepdim=True)
    torch.testing.assert_close(opinion_entropy(logits), -(parts * parts.log()).sum(1), atol=1e-5, rtol=1e-5)


def test_longer_logits_are_no_way_down():
    logits = torch.tensor([[3.0, 1.0, -2.0], [0.5, 0.2, 0.1]], requires_grad=True)
    opinion_entropy(logits).sum().backward()
    along = (logits.grad * logits.detach()).sum(1)
    torch.testing.assert_close(along, torch.zeros(2), atol=1e-6, rtol=0)


def test_huge_and_vanishing_logits_stay_finite():
    logits = torch.tensor([[1e4, 0.0], [0.0, 0.0]], requires_grad=True)
    loss = opinion_entropy(logits)
    loss.sum().backward()
    assert loss.isfinite().all()
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("method", ["tent", "eta", "eata", "sar", "deyo"])
def test_an_unknown_loss_is_told(method):
    with pytest.raises(GottaError, match="come"):
        build(method, loss="cmoe")
