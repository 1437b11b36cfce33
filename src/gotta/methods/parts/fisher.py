"""Fisher information: how much each parameter matters to what the model says of clean samples."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gotta.errors import GottaError
from gotta.methods.parts.losses import pseudo_label_loss

if TYPE_CHECKING:
    from gotta.methods.method import Method


def information(method: "Method", x: Tensor, batch_size: int) -> dict[str, Tensor]:
    """The squared gradient of a batch's pseudo-label loss, averaged over the batches, for each trained parameter."""
    trained = method.trained
    total = {name: torch.zeros_like(parameter) for name, parameter in trained.items()}
    batches = [part for part in torch.split(x, batch_size) if len(part) > 1 or len(x) == 1]
    for part in batches:
        with torch.enable_grad():
            loss = pseudo_label_loss(method.logits(part))
            gradients = torch.autograd.grad(loss, list(trained.values()))
        method.cost.count(backwards=1)
        for name, gradient in zip(trained, gradients, strict=True):
            total[name] += gradient**2 / len(batches)
    return total


def like(start: Mapping[str, Tensor], given: Mapping[str, Any], what: str) -> dict[str, Tensor]:
    """The given tensors where the parameters are; there must be one of the same shape for each."""
    missing = [name for name, value in start.items() if name not in given or given[name].shape != value.shape]
    if missing:
        raise GottaError(f"{what} lacks {', '.join(missing)}, or with that shape. Expected a tensor for each of them.")
    return {name: torch.as_tensor(given[name]).to(value) for name, value in start.items()}
