"""One forward of samples that are normalised differently: each with the levels of its own stream."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from gotta.statistics.normalization import batch_norms, eager_if, instead, is_compiled, sample_moments, tracked_norms

PLAIN = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)  # which normalise and do nothing else

Moments = tuple[Tensor, Tensor]


class NotSamples(Exception):
    """A layer was given rows that are not the samples, so that nobody knows whose levels they need."""


def normalises_each(net: nn.Module) -> bool:
    """Whether every BatchNorm layer of a network has statistics that can be exchanged."""
    return len(tracked_norms(net)) == len(batch_norms(net))


@contextmanager
def normalised_each(
    net: nn.Module, mean: Tensor, var: Tensor, of_sample: Tensor, see: Callable[[int, Moments], Any] | None
) -> Iterator[None]:
    """Inside, sample n is normalised with mean and variance number `of_sample[n]`, of [S, P] each.

    `see` is given what each layer saw of each sample.
    """
    layers = tracked_norms(net)
    sizes = [layer.num_features for layer in layers]
    own = torch.split(mean[of_sample], sizes, 1), torch.split(var[of_sample], sizes, 1)

    def make(at: int, layer: _BatchNorm) -> Callable[[Tensor], Tensor]:
        looked = None if see is None else partial(see, at)
        return partial(_normalise, layer, layer.forward, own[0][at], own[1][at], looked)

    with instead(layers, make), eager_if(is_compiled(net)):
        yield


def _normalise(
    layer: _BatchNorm,
    forward: Callable[[Tensor], Tensor],
    mean: Tensor,  # [B, C]
    var: Tensor,
    see: Callable[[Moments], Any] | None,
    input: Tensor,
) -> Tensor:
    if len(input) != len(mean):
        raise NotSamples
    if see is not None:
        see(sample_moments(input))
    scale = (var + layer.eps).rsqrt()
    if type(layer) in PLAIN:
        scale = scale if layer.weight is None else scale * layer.weight
        return _scaled(input, scale, -mean * scale if layer.bias is None else layer.bias - mean * scale)
    # A layer that does more than normalise is given what its own statistics make the same of.
    assert layer.running_mean is not None
    assert layer.running_var is not None
    scale = scale * (layer.running_var + layer.eps).sqrt()
    return forward(_scaled(input, scale, layer.running_mean - mean * scale))


def _scaled(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    shape = (*scale.shape, *([1] * (x.ndim - 2)))
    return (x * scale.reshape(shape)).add_(shift.reshape(shape)).to(x.dtype)  # a fraction of the time of addcmul
