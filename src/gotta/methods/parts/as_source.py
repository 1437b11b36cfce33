"""What the source model would say, from within a method that has changed its network."""

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gotta.statistics.normalization import source_statistics

if TYPE_CHECKING:
    from gotta.methods.method import Method


@torch.no_grad()
def source_logits(method: "Method", x: Tensor) -> Tensor:
    """One forward with the weights and statistics of the source. The method stays as it is."""
    here = method.model.state_dict()
    saved = {name: value for name, value in method.source_state.items() if isinstance(value, Tensor)}
    source = {name: value.to(here[name]) for name, value in saved.items()}
    method.cost.count(forwards=1, samples=len(x))
    with source_statistics(method.model):
        inputs, named = method.calls.arrange(x)
        output = torch.func.functional_call(method.model, source, inputs, named)
        return method.calls.read(method.calls.keep(x, output))
