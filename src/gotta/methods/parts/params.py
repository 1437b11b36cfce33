"""Which parameters are trained, by which optimizer, and where: at their own place or at a worse one nearby."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from gotta.errors import GottaError, NoEffect, check_known
from gotta.statistics.normalization import AFFINE_LAYERS

OPTIMIZERS = ("adam", "nesterov", "sgd")


def make_optimizer(
    name: str, parameters: Sequence[nn.Parameter], lr: float, weight_decay: float = 0.0
) -> torch.optim.Optimizer:
    """Adam as published with (0.9, 0.999), or SGD with momentum 0.9, plain or Nesterov's."""
    if not lr > 0:
        raise GottaError(f"lr must be greater than 0 (got {lr}).")
    check_known("optimizer", name, OPTIMIZERS)
    if name == "adam":
        return torch.optim.Adam(parameters, lr=lr, weight_decay=weight_decay)
    return torch.optim.SGD(parameters, lr, 0.9, weight_decay=weight_decay, nesterov=name == "nesterov")


def train(parameters: Sequence[nn.Parameter]) -> list[nn.Parameter]:
    for parameter in parameters:
        parameter.requires_grad_(True)
    return list(parameters)


def train_affine(model: nn.Module, method: str, skip: Callable[[str], bool] = lambda name: False) -> list[nn.Parameter]:
    """Switch gradients on for weight and bias of the normalisation layers, and give them. `skip` looks at names.

    `method` names who asks, for the message where `model` has no such layers.

    >>> import torch
    >>> from gotta.methods import train_affine
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 3))
    >>> [tuple(parameter.shape) for parameter in train_affine(net, "mine")]
    [(4,), (4,)]
    """
    layers = (layer for name, layer in model.named_modules() if isinstance(layer, AFFINE_LAYERS) and not skip(name))
    parameters = list(dict.fromkeys(parameter for layer in layers for parameter in layer.parameters(recurse=False)))
    if not parameters:
        way_out = "Use 'source', or a model with BatchNorm, GroupNorm or LayerNorm."
        raise NoEffect(f"method '{method}' trains normalisation layers, and this model has none to train. {way_out}")
    return train(parameters)


def near_the_top(model: nn.Module) -> Callable[[str], bool]:
    """Which layers, by name, SAR and its followers do not train: the last stage of a ResNet, the last three blocks and
    the final norm of a ViT-B.

    By depth: the last quarter of the stages or blocks that a network repeats, and what is behind them. Of fewer than
    four stages or eight blocks none is spared, only the norm behind blocks.
    """
    units = find_repeated(model)
    if not units:
        return lambda name: False
    stages = any(is_stage(unit) for _, unit in units)
    spared = len(units) // 4 if stages or len(units) >= 8 else 0
    names = [name for name, _ in model.named_modules()]
    if spared:
        top = names[names.index(units[-spared][0]) :]
    else:
        last, unit = units[-1]
        behind = names.index(last) + len(list(unit.modules()))
        top = [] if stages or isinstance(unit, AFFINE_LAYERS) else names[behind:]
    return set(top).__contains__


def find_repeated(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """The stages or blocks of a network, in order: the outermost three or more modules of one kind side by side, else
    two.
    """
    waiting, pair = [("", model)], list[tuple[str, nn.Module]]()
    while waiting:
        name, module = waiting.pop(0)
        inside = [(f"{name}.{key}".lstrip("."), child) for key, child in module.named_children() if has_affine(child)]
        kinds = [type(child) for _, child in inside]
        alike = [(key, child) for key, child in inside if type(child) is max(kinds, key=kinds.count)]
        if len(alike) > 2:
            return alike
        pair = pair or (alike if len(alike) == 2 else [])
        waiting += inside
    return pair


def is_stage(unit: nn.Module) -> bool:
    """Whether blocks are repeated inside."""
    for module in unit.modules():
        inside = [child for child in module.children() if has_affine(child) and not isinstance(child, AFFINE_LAYERS)]
        if len({type(child) for child in inside}) < len(inside):
            return True
    return False


def has_affine(module: nn.Module) -> bool:
    return any(isinstance(layer, AFFINE_LAYERS) for layer in module.modules())


def train_all(model: nn.Module) -> list[nn.Parameter]:
    """Switch gradients on for every parameter that can have one.

    >>> import torch
    >>> from gotta.methods import train_all
    >>> len(train_all(model=torch.nn.Linear(4, 3)))
    2
    """
    return train([parameter for parameter in model.parameters() if parameter.is_floating_point()])


def train_weights_and_biases(model: nn.Module, method: str) -> list[nn.Parameter]:
    """Switch gradients on for parameters that their module calls `weight` or `bias`; not for tokens and the like."""
    named = [(name.rpartition(".")[2], parameter) for name, parameter in model.named_parameters()]
    chosen = [parameter for name, parameter in named if name in ("weight", "bias") and parameter.is_floating_point()]
    if not chosen:
        raise NoEffect(f"method '{method}' trains parameters that are called weight or bias, and this model has none.")
    return train(chosen)


@contextmanager
def displace(parameters: Sequence[nn.Parameter], rho: float) -> Iterator[None]:
    """The parameters moved by rho along their gradients (one norm over all), and exactly back at the end.

    Sharpness-aware minimisation takes the gradient there, where the loss is worst nearby (Foret et al., ICLR 2021).
    """
    before = [parameter.detach().clone() for parameter in parameters]
    with torch.no_grad():
        gradients = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
        length = torch.stack([gradient.norm() for gradient in gradients]).norm()
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.add_(gradient * (rho / (length + 1e-12)))
            parameter.grad = None
    try:
        yield
    finally:
        with torch.no_grad():
            for parameter, value in zip(parameters, before, strict=True):
                parameter.copy_(value)


def load_network(net: nn.Module, state: Mapping[str, Any]) -> None:
    """Put a state of this very network back. A plain dict has no versions, and some layers take it for an old one."""
    own = net.state_dict()
    own.clear()  # its versions stay
    own.update(state)
    net.load_state_dict(own)


def plain_state(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """What an optimizer remembers, without what it was built with: text keys, so that any file format can hold it."""
    return {str(index): dict(held) for index, held in optimizer.state_dict()["state"].items()}


def load_plain_state(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    groups = optimizer.state_dict()["param_groups"]
    numbered = {int(index): dict(held) for index, held in state.items()}
    trained = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for index, held in numbered.items():
        shape = trained[index].shape
        if held.keys() != numbered[min(numbered)].keys() or not all(_is_held(shape, *item) for item in held.items()):
            raise ValueError(f"what the optimizer remembers of parameter {index} is not what it would")
    optimizer.load_state_dict({"state": numbered, "param_groups": groups})


def _is_held(shape: torch.Size, name: str, value: Any) -> bool:
    """Whether an optimizer may remember this: the number of its steps, and tensors of the parameter's shape."""
    if name == "step":
        return (isinstance(value, Tensor) and value.numel() == 1) or type(value) in (int, float)
    return (value is None and name == "momentum_buffer") or (isinstance(value, Tensor) and value.shape == shape)
