"""Sharpness-aware minimisation: the gradient is taken where the loss is worst nearby (Foret et al., ICLR 2021)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def displace(parameters: Sequence[nn.Parameter], rho: float) -> Iterator[None]:
    """The parameters moved by rho along their gradients (one norm over all), and exactly back at the end."""
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
