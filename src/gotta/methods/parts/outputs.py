"""What a network gives back, as logits."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from gotta.errors import GottaError


def find_logits(output: Any) -> Tensor:
    """The logits in a network's output: a tensor, the first tensor of a tuple, or `logits` of a mapping."""
    found = output
    if isinstance(output, Mapping):
        found = output.get("logits")
    elif isinstance(output, tuple | list):
        found = next((part for part in output if isinstance(part, Tensor)), None)
    if not isinstance(found, Tensor):
        raise GottaError(
            f"the model gives back {type(output).__name__} without logits. Expected a tensor [B, C], a tuple that "
            "begins with one, or a dict with the key 'logits'."
        )
    return found


def logits_of(output: Any) -> Tensor:
    """The logits in a network's output. Half precision becomes float32: entropies of confident rows would vanish in
    eight bits.
    """
    found = find_logits(output)
    return found.float() if found.dtype in (torch.float16, torch.bfloat16) else found
