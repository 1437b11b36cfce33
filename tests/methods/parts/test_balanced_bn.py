"""Balanced BatchNorm by hand; its published trajectory is in tests/methods/test_tribe.py."""

import pytest
import torch
from methods.parts.trained_norm import SHAPES, assert_plain_in_use, trained_norm, values
from torch.nn import functional as F

from gotta.methods.tribe import BalancedBN
from gotta.statistics.normalization import batch_statistics


def layer_of(share=0.0):
    return BalancedBN(trained_norm(), 4, share)


def told(layer, x, label, rate=0.25):
    layer.label = torch.tensor(label)
    with batch_statistics(layer, rate):
        return layer(x)


@pytest.mark.parametrize("shape", SHAPES)
def test_in_use_it_is_a_plain_batch_norm(shape):
    assert_plain_in_use(layer_of(), shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_where_nothing_may_move_the_batch_normalises(shape):
    layer, x = layer_of(), values(shape)
    before = {name: buffer.clone() for name, buffer in layer.named_buffers()}
    torch.testing.assert_close(
        told(layer, x, [0, 1] * 6, rate=0.0), F.batch_norm(x, None, None, layer.weight, layer.bias, True)
    )
    assert len(before) == 5
    for name, buffer in layer.named_buffers():
        assert torch.equal(buffer, before[name]), name


def test_without_classes_the_running_statistics_move_to_the_batch():
    layer, x = layer_of(), values((12, 3, 4, 4))
    mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
    expected = torch.lerp(layer.running_mean, mean, 0.25), torch.lerp(layer.running_var, var, 0.25)
    with batch_statistics(layer, 0.25):
        layer(x)
    torch.testing.assert_close((layer.running_mean, layer.running_var), expected)


def test_a_class_moves_by_the_rate_for_each_of_its_samples_and_others_stay():
    layer, x = layer_of(), values((3, 3))
    start = layer.class_mean.clone()
    told(layer, x, [0, 0, 2])
    torch.testing.assert_close(layer.class_mean[0], start[0] + 0.25 * (x[:2] - start[0]).sum(0))
    torch.testing.assert_close(layer.class_mean[2], start[2] + 0.25 * (x[2] - start[2]))
    assert torch.equal(layer.class_mean[[1, 3]], start[[1, 3]])


def test_a_class_with_many_samples_becomes_their_mean_and_variance():
    layer, x = layer_of(), values((9, 3))
    told(layer, x, [1] * 9)
    torch.testing.assert_close(layer.class_mean[1], x.mean(0))
    torch.testing.assert_close(layer.class_var[1], x.var(0, correction=0))


def test_a_full_share_moves_every_class_alike():
    layer, x = layer_of(share=1.0), values((4, 3))
    told(layer, x, [0, 0, 0, 3])
    assert all(torch.equal(row, layer.class_mean[0]) for row in layer.class_mean)
    assert not torch.equal(layer.class_mean[0], layer_of().class_mean[0])


def test_all_classes_normalise_together_whatever_their_numbers():
    layer, x = layer_of(), values((12, 3))
    got = told(layer, x, [0] * 10 + [1, 2])
    mean = layer.class_mean.mean(0)
    var = layer.class_var.mean(0) + layer.class_mean.var(0)
    torch.testing.assert_close((layer.running_mean, layer.running_var), (mean, var))
    torch.testing.assert_close(got, F.batch_norm(x, mean, var, layer.weight, layer.bias))


def test_classes_are_told_for_one_forward():
    layer, x = layer_of(), values((4, 3))
    told(layer, x, [0, 1, 2, 3])
    by_class = layer.class_mean.clone()
    with batch_statistics(layer, 0.25):
        layer(x)
    assert torch.equal(layer.class_mean, by_class)
