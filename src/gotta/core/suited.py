"""Whether a network is one that adapting works for: what is refused, and what is said of it."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from gotta.errors import GottaError
from gotta.methods import Method
from gotta.methods.parts.calls import unwrap
from gotta.statistics.normalization import has_batch_norm

if TYPE_CHECKING:
    from gotta.core.adapted import Adapted

HALF = (torch.float16, torch.bfloat16)
NEAR = 1e-3  # of 1, where the sum of probabilities may be in half precision


class NetworkWarning(UserWarning):
    """A network will be adapted, and less well or less fast than its owner may think."""


def check_network(net: nn.Module) -> None:
    """Refuse a network before it is copied."""
    if isinstance(net, nn.parallel.DistributedDataParallel):
        raise GottaError(
            "a DistributedDataParallel network averages the gradients of a training step over its replicas. An adapted "
            "model predicts and adapts in one call. Adapt the network inside in every process: adapt(ddp.module), each "
            "on its own part of the stream, or adapt(ddp.module, 'tent', statistics='batch', sync=True), all as one."
        )


def check_not_exported() -> None:
    if getattr(torch.compiler, "is_exporting", bool)() or torch._C._get_tracing_state() is not None:
        raise GottaError("an adapted model cannot be exported, because it changes. Export model.fold().")


def uncompiled(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step as torch.compile leaves it alone: it would compile decisions for minutes, and the network no faster."""
    warn("an adapted model runs uncompiled, because it changes. Compile its network: adapt(torch.compile(net), ...).")
    plain: Callable[..., Any] = torch.compiler.disable(step)  # type: ignore[no-untyped-call]
    return plain


def check_method(method: Method) -> None:
    """Refuse what would be taken back at every step, and say what is worse than it seems."""
    types = {parameter.dtype for parameter in method.model.parameters()} & {*HALF}
    trained = {parameter.dtype for parameter in method.trained.values()}
    if torch.float16 in trained and isinstance(method.optimizer, torch.optim.Adam):
        raise GottaError(
            f"method '{type(method).__name__.lower()}' trains with Adam, whose smallest numbers are 0 in float16, so "
            "that each step would divide by 0. Give the network in float32 and call the adapted model inside "
            "torch.autocast, or use a method that trains nothing, such as 'deskew'."
        )
    for half in types:
        steps = ", and most steps of training are smaller than that" if half in trained else ""
        warn(
            f"the network's weights are {half}, so its logits are exact to {torch.finfo(half).eps:.0e} only{steps}. "
            "float32 weights inside torch.autocast are as fast."
        )
    if runs_uncompiled(method):
        warn(
            f"the compiled network runs uncompiled under statistics='{method.statistics.name}', which look at the "
            "inputs of its BatchNorm layers. statistics='running' and 'source' run it compiled; so does "
            "torch.compile(model.fold()), which adapts no more."
        )


def runs_uncompiled(method: Method) -> bool:
    """Whether a compiled network is not run as such."""
    compiled = any(unwrap(module) is not module for module in method.model.modules())
    return compiled and method.statistics.watches and has_batch_norm(method.model)


def check_first(adapted: "Adapted", logits: Tensor) -> None:
    """Look at the first outputs of a network. A warning if they are probabilities: softmax of those is nearly even."""
    if adapted.sample is None and bool((logits >= 0).all() & ((logits.sum(1) - 1).abs() < NEAR).all()):
        warn(
            "the network gives probabilities: each row is positive and sums to 1. Expected logits, and every method "
            "takes them for such. Leave out the softmax, or adapt with output=lambda p: p.clamp_min(1e-12).log()."
        )


def warn(text: str) -> None:
    warnings.warn(text, NetworkWarning, stacklevel=4)
