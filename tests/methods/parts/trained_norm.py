"""A BatchNorm as training leaves it, and batches that look different from what it was trained on."""

import torch
from torch import nn
from torch.nn import functional as F

SHAPES = [(12, 3), (12, 3, 4, 4)]


def trained_norm():
    """Three channels, each with statistics, weight and bias of its own."""
    made = nn.BatchNorm2d(3)
    with torch.no_grad():
        made.running_mean.copy_(torch.linspace(-1, 1, 3))
        made.running_var.copy_(torch.linspace(0.5, 2, 3))
        made.weight.copy_(torch.linspace(1, 2, 3))
        made.bias.copy_(torch.linspace(0, 1, 3))
    return made.eval()


def values(shape):
    return 2 + 3 * torch.randn(shape, generator=torch.Generator().manual_seed(0))


def assert_plain_in_use(layer, shape):
    """Outside of training a layer that took the place of a BatchNorm is one."""
    x = values(shape)
    plain = F.batch_norm(x, layer.running_mean, layer.running_var, layer.weight, layer.bias)
    torch.testing.assert_close(layer(x), plain)
