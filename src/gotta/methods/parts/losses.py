"""Losses that methods share."""

from collections.abc import Callable
from math import log

import torch
from torch import Tensor
from torch.nn import functional as F


def entropy(logits: Tensor) -> Tensor:
    """H(softmax) of each row, exact: [B, C] to [B].

    >>> import torch
    >>> from gotta.methods import entropy
    >>> entropy(logits=torch.zeros(2, 4)).exp().tolist()
    [4.0, 4.0]
    """
    return -(logits.softmax(1) * logits.log_softmax(1)).sum(1)


def opinion_entropy(logits: Tensor) -> Tensor:
    """COME: the entropy of an opinion, which is a belief in each class and what is left open. [B, C] to [B].

    The opinion is exp(logits) beside C, normalised. The gradient leaves the length of the logits alone, so that a loss
    of this cannot fall by overconfidence (Zhang et al., ICLR 2025).
    """
    length = logits.norm(dim=1, keepdim=True).clamp(min=1e-12)
    open_question = torch.full_like(logits[:, :1], log(logits.shape[1]))
    opinion = torch.cat([logits / length * length.detach(), open_question], 1).softmax(1) + 1e-7
    return -(opinion * opinion.log()).sum(1)


ENTROPIES: dict[str, Callable[[Tensor], Tensor]] = {"entropy": entropy, "come": opinion_entropy}


def softened_entropy(logits: Tensor) -> Tensor:
    """-sum p ln(p + 1e-6) of each row, as NOTE and SoTTA compute it: [B, C] to [B]."""
    probs = logits.softmax(1)
    return -(probs * (probs + 1e-6).log()).sum(1)


def soft_cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """-sum p(target) ln p(logits) of each row; both are logits: [B, C] to [B]."""
    return -(target.softmax(1) * logits.log_softmax(1)).sum(1)


def soft_likelihood_ratio(logits: Tensor) -> Tensor:
    """-sum p ln(p / (1 - p) + 1e-5) of each row, p at most 0.99: the gradient stays as p grows. [B, C] to [B]."""
    probs = logits.softmax(1).clamp(max=0.99)
    return -(probs * (probs / (1 - probs) + 1e-5).log()).sum(1)


def confident(logits: Tensor, threshold: float) -> Tensor:
    """Which rows have a probability above the threshold: [B, C] to [B] bool."""
    return logits.detach().softmax(1).amax(1) > threshold


def pseudo_label_loss(logits: Tensor) -> Tensor:
    """Cross-entropy with the own argmax as the label, mean over the rows."""
    return F.cross_entropy(logits, logits.detach().argmax(1))


def margin(e_margin: float | None, logits: Tensor, share: float = 0.4) -> float:
    """The entropy below which a sample counts as reliable: given, or that share of ln C."""
    return share * log(logits.shape[1]) if e_margin is None else e_margin
