"""The layer of a network that makes logits of features."""

from torch import nn


def find_head(net: nn.Module) -> nn.Module | None:
    """The layer that makes logits of features: the one that the network names, else its last linear one."""
    layers = [module for module in net.modules() if isinstance(module, nn.Linear)]
    return find_named_head(net) or (layers[-1] if layers else None)


def find_width(net: nn.Module) -> int | None:
    """How many features there are, where it can be nothing else."""
    named = find_named_head(net)
    if named is None and hasattr(net, "classify"):
        return None
    layers = [named] if named is not None else list(net.modules())
    widths = {layer.in_features for layer in layers if isinstance(layer, nn.Linear)}
    return widths.pop() if len(widths) == 1 else None


def find_named_head(net: nn.Module) -> nn.Module | None:
    """The last layer of a network that says what it is called (`classifier`)."""
    net = getattr(net, "_orig_mod", net)
    name = getattr(net, "classifier", None)
    return net.get_submodule(name) if isinstance(name, str) and name else None
