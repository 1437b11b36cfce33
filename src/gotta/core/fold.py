"""A plain network of what an adapted model is now, to be exported."""

from copy import deepcopy
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from gotta.errors import GottaError
from gotta.methods import Method
from gotta.methods.parts.calls import unwrap
from gotta.statistics.normalization import (
    ReplacedBatchNorm,
    _with_gradient,
    batch_norms,
    replace_batch_norms,
    tracked_norms,
)

if TYPE_CHECKING:
    from gotta.core.between_steps import BetweenSteps


def fold(adapted: "BetweenSteps") -> nn.Module:
    """A copy of the network that predicts, normalising with what the method normalises with now.

    Raises where predictions need more than a network with its weights and statistics.
    """
    method = adapted.method
    name, kind = method.name, type(method)
    if method.needs_batch:
        raise GottaError(f"predictions of '{name}' are normalised by the batch. To fold, use statistics='running'.")
    own = kind.predict is not Method.predict or kind._prediction_mode is not Method._prediction_mode
    strange = {type(layer) for layer in batch_norms(method.predictor) if isinstance(layer, ReplacedBatchNorm)}
    if own or not all(layer.foldable for layer in strange):
        raise GottaError(
            f"predictions of '{name}' need more than one network. Use 'deskew', or 'tent' with statistics='running'."
        )
    net = deepcopy(unwrap(method.predictor))
    with method.statistics.predicting(method.predictor, moving=False):
        lent = [(layer.running_mean, layer.running_var) for layer in tracked_norms(method.predictor)]
    with torch.no_grad():
        for layer, (mean, var) in zip(tracked_norms(net), lent, strict=True):
            layer.running_mean.copy_(mean)  # type: ignore[union-attr, arg-type]
            layer.running_var.copy_(var)  # type: ignore[union-attr, arg-type]
    replace_batch_norms(net, make_plain)
    for module in net.modules():  # hooks that only training needs, and no exporter understands
        for key in [key for key, hook in module._forward_pre_hooks.items() if hook is _with_gradient]:
            del module._forward_pre_hooks[key]
    return net.eval().requires_grad_(True)


def make_plain(layer: _BatchNorm) -> _BatchNorm:
    """The BatchNorm that a method has exchanged for its own, as it is now."""
    if not isinstance(layer, ReplacedBatchNorm):
        return layer
    plain = layer.replaces(layer.num_features, layer.eps, layer.momentum, layer.affine, layer.track_running_stats)
    plain._parameters, plain._buffers, plain._modules = layer._parameters, layer._buffers, layer._modules
    return plain
