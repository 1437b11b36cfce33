"""Samples of one forward, each normalised with levels of its own."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from gotta.statistics.each_sample import NotSamples, normalised_each, normalises_each
from gotta.statistics.normalization import own_levels, sample_moments


class WithActivation(nn.BatchNorm2d):
    """A BatchNorm that does more than normalise, as those of timm do."""

    def forward(self, input):
        return F.gelu(super().forward(input))


def seeded(layer):
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        layer.running_mean.normal_()
        layer.running_var.uniform_(0.5, 2)
        if layer.affine:
            layer.weight.normal_()
            layer.bias.normal_()
    return layer.eval()


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.BatchNorm1d(5), (6, 5)),
        (nn.BatchNorm1d(5), (6, 5, 3)),
        (nn.BatchNorm2d(5, affine=False), (6, 5, 3, 3)),
        (nn.BatchNorm2d(5, eps=0.1), (6, 5, 3, 3)),
        (WithActivation(5), (6, 5, 3, 3)),
        (nn.BatchNorm3d(5).double(), (6, 5, 2, 2, 2)),
    ],
    ids=str,
)
def test_each_sample_is_normalised_with_its_own_level(layer, shape):
    layer, rng = seeded(layer), torch.Generator().manual_seed(1)
    x = torch.randn(shape, generator=rng, dtype=layer.running_mean.dtype)
    mean = torch.randn(3, 5, generator=rng, dtype=x.dtype)
    var = torch.rand(3, 5, generator=rng, dtype=x.dtype) + 0.1
    of_sample, seen = torch.tensor([2, 0, 0, 1, 2, 1]), {}
    with normalised_each(layer, mean, var, of_sample, seen.__setitem__), torch.no_grad():
        found = layer(x)
    assert found.dtype == x.dtype
    for at, stream in enumerate(of_sample):
        layer.running_mean, layer.running_var = mean[stream], var[stream]
        assert torch.allclose(layer(x[at : at + 1]), found[at : at + 1], atol=1e-5)
    assert all(torch.equal(mine, usual) for mine, usual in zip(seen[0], sample_moments(x), strict=True))
    assert "forward" not in vars(layer)


def test_rows_that_are_not_the_samples_are_refused():
    layer = seeded(nn.BatchNorm1d(5))
    mean, var = (part.expand(2, -1) for part in own_levels(layer))
    with pytest.raises(NotSamples), normalised_each(layer, mean, var, torch.tensor([0, 1]), None):
        layer(torch.rand(4, 5))
    assert "forward" not in vars(layer)


def test_layers_without_statistics_cannot_be_given_any():
    assert normalises_each(nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4)))
    assert normalises_each(nn.Linear(2, 2))
    assert not normalises_each(nn.BatchNorm2d(4, track_running_stats=False))
