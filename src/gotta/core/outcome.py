"""What a step of an adapted model tells."""

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gotta.types import Prediction


@dataclass(frozen=True)
class Outcome:
    """What a step gave: the prediction to use, where each sample was stored (-1: not), and what was done for it."""

    prediction: Prediction
    slots: Tensor  # [B]
    adaptations: int
    cost: dict[str, Any] = field(default_factory=dict)  # seconds, forwards and backwards by phase
    diagnostics: dict[str, float] = field(default_factory=dict)
    output: Any = None  # what the network gives for such a call, with the logits of the prediction
    streams: dict[str | int, dict[str, float]] = field(default_factory=dict)  # the diagnostics of each stream, if any
    ids: list[int | str] = field(default_factory=list)  # of the samples, for `feedback`; only with a shadow
    beside: Prediction | None = None  # of whom does not answer: the adapted model in shadow, the source once promoted


def not_stored(count: int) -> Tensor:
    """The slots of samples that went into no memory."""
    return torch.full((count,), -1)
