"""What a network hands to its classifier, taken in the forward that gives the logits."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from gotta.errors import GottaError
from gotta.methods.parts.calls import Calls


def has_features(net: nn.Module) -> bool:
    """Whether `forward_with_features` may find any."""
    return _own(net) is not None or any(isinstance(module, nn.Linear) for module in net.modules())


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
        raise GottaError(
            "this model has no features to take: expected features(x) and classify(features), or a linear layer at its "
            "end that is given [B, D]."
        )
    return output, given[-1].detach()


def _own(net: nn.Module) -> tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Any]] | None:
    """The network's own functions for its features, and from these to its output."""
    features, classify = getattr(net, "features", None), getattr(net, "classify", None)
    return (features, classify) if callable(features) and callable(classify) else None
