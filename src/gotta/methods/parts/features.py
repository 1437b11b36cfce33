"""What a network hands to its classifier, taken in the forward that gives the logits."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gotta.errors import GottaError
from gotta.methods.parts.calls import Calls

EXPECTED = "expected features(x) and classify(features), or a linear layer at its end that is given [B, D]."


def check_features(net: nn.Module, method: str) -> None:
    """Raises where `forward_with_features` could find none."""
    if _own(net) is None and not any(isinstance(module, nn.Linear) for module in net.modules()):
        raise GottaError(f"method '{method}' needs features, and this model has none to take: {EXPECTED}")


def forward_with_features(net: nn.Module, x: Tensor, calls: Calls) -> tuple[Any, Tensor]:
    """One forward: what the network gives back, and its features [B, D].

    A network with features(x) and classify(features) is asked for them. Of any other, the features are what the linear
    layer that is called last is given.
    """
    net = getattr(net, "_orig_mod", net)  # a compiled network may have been traced without the hooks
    if calls.alone and (own := _own(net)):
        features, classify = own
        found = features(x)
        return calls.keep(x, classify(found)), found.detach()
    given: list[Tensor] = []
    layers = [module for module in net.modules() if isinstance(module, nn.Linear)]
    hooks = [layer.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0])) for layer in layers]
    try:
        output = calls(net, x)
    finally:
        for hook in hooks:
            hook.remove()
    if not given or given[-1].shape[:-1] != x.shape[:1]:
        raise GottaError(f"this model has no features to take: {EXPECTED}")
    return output, given[-1].detach()


def measured_or_given(
    hyper: Any, names: tuple[str, str], measure: Callable[[Tensor], tuple[Tensor, Tensor]]
) -> tuple[Tensor, Tensor] | None:
    """The features of the source, as `source_features` names them or as they are measured on `source_data`, if any."""
    if hyper.source_features is not None:
        first, second = (torch.as_tensor(hyper.source_features[name]) for name in names)
        return first, second
    return None if hyper.source_data is None else measure(hyper.source_data)


def _own(net: nn.Module) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Any]] | None:
    """The network's own functions for its features, and from these to its output."""
    features, classify = getattr(net, "features", None), getattr(net, "classify", None)
    return (features, classify) if callable(features) and callable(classify) else None
