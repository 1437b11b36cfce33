"""Losses that methods share."""

from torch import Tensor


def entropy(logits: Tensor) -> Tensor:
    """H(softmax) of each row, exact: [B, C] to [B]."""
    return -(logits.softmax(1) * logits.log_softmax(1)).sum(1)
