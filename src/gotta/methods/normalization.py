"""Normalisation layers of any model: finding them, and deciding for a while which statistics BatchNorm uses."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

AFFINE_LAYERS = (_BatchNorm, nn.LayerNorm, nn.GroupNorm, nn.InstanceNorm2d)


def batch_norms(model: nn.Module) -> list[_BatchNorm]:
    return [module for module in model.modules() if isinstance(module, _BatchNorm)]


def affine_parameters(model: nn.Module) -> list[nn.Parameter]:
    """Weight and bias of every normalisation layer that has them, each once."""
    layers = (module for module in model.modules() if isinstance(module, AFFINE_LAYERS))
    return list(dict.fromkeys(parameter for layer in layers for parameter in layer.parameters(recurse=False)))


@contextmanager
def batch_statistics(model: nn.Module, rate: float) -> Iterator[None]:
    """BatchNorm normalises with the current batch; running statistics move towards it by `rate`.

    Only BatchNorm changes its mode: train() on the whole model would switch dropout on.
    """
    layers = batch_norms(model)
    before = [(layer.training, layer.momentum, layer.track_running_stats) for layer in layers]
    for layer in layers:
        layer.training, layer.momentum = True, rate
        # A rate of 0 must leave the running statistics alone even if the batch's are not finite.
        layer.track_running_stats = layer.track_running_stats and rate > 0
    try:
        yield
    finally:
        for layer, (training, momentum, track) in zip(layers, before, strict=True):
            layer.training, layer.momentum, layer.track_running_stats = training, momentum, track
