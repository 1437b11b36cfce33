"""What an adapted model accepts: a batch, and the logits the network makes of it."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from gotta.errors import GottaError


def check_batch(x: Tensor, sample: torch.Size | None, batch_statistics: bool) -> None:
    """Raises unless x is a batch like the earlier ones, whose samples had the shape `sample`."""
    expected = "Expected a floating tensor [B, ...] of finite values"
    if not isinstance(x, Tensor) or not x.is_floating_point():
        got = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise GottaError(f"a batch of {got} cannot be predicted. {expected}; images go from 0 to 1.")
    if x.ndim < 2 or (sample is not None and x.shape[1:] != sample):
        wanted = "[B, ...]" if sample is None else f"[B, {', '.join(map(str, sample))}]"
        raise GottaError(f"a batch of shape {list(x.shape)} does not fit. Expected {wanted}, as before.")
    if len(x) == 0:
        raise GottaError("the batch is empty. Leave it out.")
    if len(x) == 1 and batch_statistics:
        raise GottaError(
            "a batch of one sample has no batch statistics to normalise with. Use batches of at least 2, a memory "
            "with pairing='memory', or statistics='running'."
        )
    if not torch.isfinite(x).all():
        raise GottaError(f"the batch holds NaN or infinite values. {expected}.")


def check_logits(logits: Tensor, classes: int | None) -> None:
    """Raises unless the logits are finite and [B, classes]; None where the number of classes is not known yet."""
    if logits.ndim != 2 or classes not in (None, logits.shape[1]):
        raise GottaError(f"the model gives outputs of shape {list(logits.shape)}. Expected [B, {classes or 'C'}].")
    if not torch.isfinite(logits).all():
        raise GottaError(
            "the model gives NaN or infinite logits, so this batch is left out. reset() goes back to the source."
        )


def device_of(model: nn.Module) -> torch.device:
    return next((value.device for value in [*model.parameters(), *model.buffers()]), torch.device("cpu"))


def output_types(models: list[nn.Module]) -> list[torch.dtype]:
    """A list that will hold the type of these models' latest output, whatever is computed from it later."""
    heard: list[torch.dtype] = []
    for model in models:
        model.register_forward_hook(partial(_hear_type, heard))
    return heard


def _hear_type(heard: list[torch.dtype], module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
    parts = list(output.values()) if isinstance(output, Mapping) else output
    parts = parts if isinstance(parts, list | tuple) else [parts]
    heard[:] = [part.dtype for part in parts if isinstance(part, Tensor)][:1]


def shield_group_norms(model: nn.Module) -> None:
    """Keep the process alive where GroupNorm is trained on channels-last images behind frozen layers.

    The CPU kernel of torch 2.13 crashes in the backward pass if the layer's own input needs no gradient.
    """
    for module in model.modules():
        if isinstance(module, nn.GroupNorm) and _with_gradient not in module._forward_pre_hooks.values():
            module.register_forward_pre_hook(_with_gradient)


def _with_gradient(module: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    x = inputs[0]
    trained = any(parameter.requires_grad for parameter in module.parameters())
    if not trained or not torch.is_grad_enabled() or x.requires_grad or x.device.type != "cpu":
        return None
    return (x.detach().requires_grad_(), *inputs[1:])
