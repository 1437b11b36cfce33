"""Which parameters are trained, and by which optimizer."""

from collections.abc import Sequence

import torch
from torch import nn

from gotta.errors import GottaError, unknown
from gotta.methods.normalization import affine_parameters

OPTIMIZERS = ("adam", "sgd")


def make_optimizer(name: str, parameters: Sequence[nn.Parameter], lr: float) -> torch.optim.Optimizer:
    """Adam as published with (0.9, 0.999), or SGD with momentum 0.9."""
    if not lr > 0:
        raise GottaError(f"lr={lr} is no step. Expected a learning rate above 0.")
    if name == "adam":
        return torch.optim.Adam(parameters, lr=lr)
    if name == "sgd":
        return torch.optim.SGD(parameters, lr=lr, momentum=0.9)
    raise unknown("optimizer", name, OPTIMIZERS)


def train_affine(model: nn.Module) -> list[nn.Parameter]:
    """Switch gradients on for weight and bias of the normalisation layers, and give them."""
    parameters = affine_parameters(model)
    for parameter in parameters:
        parameter.requires_grad_(True)
    return parameters
