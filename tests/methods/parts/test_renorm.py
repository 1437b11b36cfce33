"""Batch renormalisation by hand; its published trajectory is in tests/methods/test_delta.py."""

import pytest
import torch
from methods.parts.trained_norm import SHAPES, assert_plain_in_use, trained_norm, values
from torch.nn import functional as F

from gotta.methods.delta import RenormBN
from gotta.statistics.normalization import batch_statistics


def layer_of():
    return RenormBN(trained_norm())


def run(layer, x, rate):
    with batch_statistics(layer, rate):
        return layer(x)


@pytest.mark.parametrize("shape", SHAPES)
def test_outside_of_training_it_is_a_plain_batch_norm(shape):
    assert_plain_in_use(layer_of(), shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_in_training_the_values_are_those_of_the_running_statistics_before(shape):
    layer, x = layer_of(), values(shape)
    expected = layer_of()(x)
    torch.testing.assert_close(run(layer, x, 0.25), expected, atol=1e-5, rtol=1e-4)


def test_mean_and_deviation_move_to_those_of_the_batch():
    layer, x = layer_of(), values((12, 3, 4, 4))
    start = layer_of()
    deviation = x.var((0, 2, 3), correction=0).add(layer.eps).sqrt()
    moved = torch.lerp((start.running_var + layer.eps).sqrt(), deviation, 0.25)
    run(layer, x, 0.25)
    torch.testing.assert_close(layer.running_mean, torch.lerp(start.running_mean, x.mean((0, 2, 3)), 0.25))
    torch.testing.assert_close((layer.running_var + layer.eps).sqrt(), moved)


def test_the_gradient_is_that_of_the_batchs_own_statistics():
    """What shifts or stretches the whole batch has no effect on the loss, as in any BatchNorm in training."""
    x = values((12, 3)).requires_grad_()
    weigh = torch.arange(36.0).reshape(12, 3).sin()
    (gradient,) = torch.autograd.grad((run(layer_of(), x, 0.25) * weigh).sum(), x)
    assert gradient.abs().max() > 0.1
    torch.testing.assert_close(gradient.sum(0), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close((gradient * x.detach()).sum(0), torch.zeros(3), atol=1e-3, rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_where_nothing_may_move_or_all_at_once_the_batch_normalises(shape, rate):
    layer, x = layer_of(), values(shape)
    torch.testing.assert_close(run(layer, x, rate), F.batch_norm(x, None, None, layer.weight, layer.bias, True))
    places = (0, *range(2, x.ndim))
    mean, var = (
        (x.mean(places), x.var(places, correction=0)) if rate else (layer_of().running_mean, layer_of().running_var)
    )
    torch.testing.assert_close((layer.running_mean, layer.running_var), (mean, var))
