"""Copies of a network that are not trained: a teacher that follows slowly, an anchor that stays."""

from collections.abc import Iterable
from copy import deepcopy

import torch
from torch import Tensor, nn


def frozen_copy(model: nn.Module) -> nn.Module:
    return deepcopy(model).requires_grad_(False)


@torch.no_grad()
def follow(teacher: Iterable[Tensor], student: Iterable[Tensor], share: float) -> None:
    """teacher = (1 - share) teacher + share student, parameter by parameter. Buffers are left alone."""
    for slow, fast in zip(teacher, student, strict=True):
        slow.mul_(1 - share).add_(fast, alpha=share)
