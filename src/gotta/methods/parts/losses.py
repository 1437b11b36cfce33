"""Losses that methods share."""

from math import log

from torch import Tensor
from torch.nn import functional as F


def entropy(logits: Tensor) -> Tensor:
    """H(softmax) of each row, exact: [B, C] to [B]."""
    return -(logits.softmax(1) * logits.log_softmax(1)).sum(1)


def soft_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """-sum p(target) ln p(logits) of each row; both are logits: [B, C] to [B]."""
    return -(target.softmax(1) * logits.log_softmax(1)).sum(1)


def confident(logits: Tensor, threshold: float) -> Tensor:
    """Which rows have a probability above the threshold: [B, C] to [B] bool."""
    return logits.detach().softmax(1).amax(1) > threshold


def pseudo_label_loss(logits: Tensor) -> Tensor:
    """Cross-entropy with the own argmax as the label, mean over the rows."""
    return F.cross_entropy(logits, logits.detach().argmax(1))


def margin(e_margin: float | None, logits: Tensor) -> float:
    """The entropy below which a sample counts as reliable: given, or 0.4 ln C."""
    return 0.4 * log(logits.shape[1]) if e_margin is None else e_margin
