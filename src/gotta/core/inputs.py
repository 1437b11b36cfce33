"""What an adapted model accepts: a network, a batch, and the logits that the one makes of the other."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import wraps
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gotta.errors import GottaError, NotFinite
from gotta.methods import Method
from gotta.state import count, number
from gotta.statistics.normalization import has_batch_norm, is_compiled

if TYPE_CHECKING:
    from gotta.core.adapted import Adapted

MOST = 1e3  # nothing real grows by a larger factor from one batch to the next
ENOUGH = 64  # samples in a row of another scale altogether, after which that is the scale
TOKENS = (torch.int64, torch.int32)  # of texts; images of bytes are mistakes
HALF = (torch.float16, torch.bfloat16)
NEAR = 1e-3  # of 1, where the sum of probabilities may be in half precision
Step = TypeVar("Step", bound=Callable[..., Any])
EXPECTED = "Expected a floating tensor [B, ...] of finite values"


@dataclass(frozen=True)
class Scale:
    """How large the values in samples are: the largest so far, and how many samples in a row were far above that."""

    largest: float = 0.0
    strange: int = 0

    @classmethod
    def read(cls, saved: Any) -> "Scale":
        """As it is in a file, or in a snapshot."""
        if isinstance(saved, Scale):
            return saved
        if not isinstance(saved, Mapping) or saved.keys() != {"largest", "strange"} or number(saved["largest"]) < 0:
            raise ValueError("it says nothing of the size of samples")
        return cls(saved["largest"], count(saved["strange"]))

    def after(self, largest: Sequence[float]) -> tuple["Scale", bool]:
        """The scale after a batch with these largest values, [B], and whether one of them is out of all proportion.

        In a first batch it is compared with the others. A stream that stays at another scale is believed in the end.
        """
        usual, most = sorted(largest)[(len(largest) - 1) // 2], max(largest)
        limit = MOST * (self.largest or usual)
        strange = self.strange + len(largest) if usual > limit else 0
        if 0 < limit < most and strange < ENOUGH:
            return Scale(self.largest, strange), True
        return Scale(max(self.largest, most)), False


def check_call(adapted: "Adapted", x: Tensor, starts: Any) -> tuple[list[float], NDArray[np.bool_] | None]:
    """Raises unless a model can take these samples. The largest value of each, and which begin something new."""
    stores, beside = adapted.memory.lasts or adapted.guard is not None, adapted.method.calls.batch_like
    if stores and beside:  # what is stored is predicted again alone
        raise GottaError(
            f"the network takes {', '.join(beside)} beside each sample, and a memory or a guard stores the sample "
            "alone. Use memory='none' without a guard, or a network that takes one tensor."
        )
    if stores and x.dtype in TOKENS:
        raise GottaError(
            f"a memory or a guard stores samples of floating numbers (got {x.dtype}: token ids?). Use memory='none' "
            "without a guard."
        )
    return check_batch(x, adapted.sample, adapted.method.needs_batch), check_starts(starts, len(x))


def check_batch(x: Tensor, sample: tuple[int, ...] | None, batch_statistics: bool) -> list[float]:
    """Raises unless x is a batch like the earlier ones, whose samples had the shape `sample`.

    Gives the largest absolute value of each sample.
    """
    kind = x.dtype if isinstance(x, Tensor) else type(x).__name__
    tokens = kind in TOKENS
    if not tokens and not getattr(kind, "is_floating_point", False):
        raise GottaError(f"a batch of {kind} cannot be predicted. {EXPECTED}; images go from 0 to 1.")
    if x.is_meta or x.is_nested or x.is_quantized or x.layout is not torch.strided:
        raise GottaError(f"a batch must be a dense tensor with values, not meta, nested or sparse. {EXPECTED}.")
    if x.ndim < 2 or (sample is not None and x.shape[1:] != sample and not tokens):  # texts differ in length
        wanted = "[B, ...]" if sample is None else f"[B, {', '.join(map(str, sample))}]"
        raise GottaError(f"a batch of shape {list(x.shape)} does not fit. Expected {wanted}, as before.")
    if x.numel() == 0:
        raise GottaError("the batch is empty. Leave it out.")
    if len(x) == 1 and batch_statistics:
        raise GottaError(
            "a batch of one sample has no batch statistics to normalise with. Use batches of at least 2, a memory "
            "with pairing='memory', or statistics='running'."
        )
    if tokens:
        return [0.0] * len(x)  # ids have no size
    largest: list[float] = largest_values(x).tolist()
    if not all(map(isfinite, largest)):
        raise GottaError(f"the batch holds NaN or infinite values. {EXPECTED}.")
    return largest


def check_starts(starts: Any, count: int) -> NDArray[np.bool_] | None:
    """Which of so many samples begin something new, as an array; None if nothing was said."""
    if starts is None:
        return None
    found = np.asarray(starts.cpu() if isinstance(starts, Tensor) else starts)
    if found.dtype != bool or found.shape != (count,):
        raise GottaError(
            f"starts must say true or false of each of the {count} samples, whether a new clip begins with it "
            f"(got {found.dtype} of shape {list(found.shape)})."
        )
    return found


def shape(saved: Any) -> tuple[int, ...]:
    """Of one sample, as it is in a file."""
    if not isinstance(saved, list | tuple):
        raise TypeError(f"{saved!r} is not the shape of a sample")
    return tuple(map(count, saved))


def largest_values(x: Tensor) -> Tensor:
    """The largest absolute value of each sample, [B]; NaN where it has one."""
    x, values = x.detach(), tuple(range(1, x.ndim))
    return torch.maximum(x.amax(values), -x.amin(values))


def check_shape(logits: Tensor, samples: int, classes: int | None) -> None:
    """Raises unless the logits are [samples, classes]; None where the number of classes is not known yet."""
    if logits.ndim == 2 and logits.shape[1] == 1:
        raise GottaError(
            "the model gives one output for each sample, [B, 1], whose softmax is 1 whatever it says. Expected a logit "
            "for each of two or more classes: for a sigmoid's logit z, output=lambda z: torch.cat([-z / 2, z / 2], 1)."
        )
    if logits.ndim != 2 or classes not in (None, logits.shape[1]) or not logits.shape[1]:
        raise GottaError(f"the model gives outputs of shape {list(logits.shape)}. Expected [B, {classes or 'C'}].")
    if len(logits) != samples:
        raise GottaError(
            f"the model gives {len(logits)} rows of logits for a batch of {samples}. Expected one row for each sample; "
            "a single sample x is the batch x[None]."
        )


def is_finite(values: Tensor) -> bool:
    """Whether all of them are. A sum is finite only if every part is; that of large finite numbers may overflow."""
    return isfinite(float(values.sum())) or bool(torch.isfinite(values).all())


def check_logits(logits: Tensor, samples: int, classes: int | None) -> None:
    """Raises unless the logits are [samples, classes] and finite."""
    check_shape(logits, samples, classes)
    if not is_finite(logits):
        raise NotFinite("the model gives NaN or infinite logits, so this batch is left out. reset() begins anew.")


def device_of(model: nn.Module) -> torch.device:
    return next((value.device for value in [*model.parameters(), *model.buffers()]), torch.device("cpu"))


class NetworkWarning(UserWarning):
    """A network will be adapted, and less well or less fast than its owner may think."""


def check_network(net: nn.Module) -> None:
    """Refuse a network before it is copied."""
    if isinstance(net, nn.parallel.DistributedDataParallel):
        raise GottaError(
            "a DistributedDataParallel network averages gradients over its replicas; an adapted model predicts and "
            "adapts in one call. Adapt the network inside in every process: adapt(ddp.module), each on its own part of "
            "the stream, or adapt(ddp.module, 'tent', statistics='batch', sync=True), all as one."
        )
    if any(isinstance(module, torch.jit.ScriptModule) for module in net.modules()):
        raise GottaError(
            "a TorchScript network has fixed operations: its normalisation can be neither seen nor changed. Adapt the "
            "network that it was made from, and script model.fold() afterwards."
        )


def copy_network(net: nn.Module) -> nn.Module:
    """A copy, also of a network that keeps tensors of its last forward, as torch's old weight_norm and LeViT do.

    Such tensors may have a graph, with which torch does not copy them.
    """
    held = [value for module in net.modules() for value in vars(module).values()]
    held += [inner for value in held if isinstance(value, dict) for inner in value.values()]
    kept = [value for value in held if isinstance(value, Tensor)]
    return deepcopy(net, {id(value): value.detach().clone() for value in kept if not value.is_leaf})


def never_compiled(step: Step) -> Step:
    """A step that torch.compile leaves alone: it would compile decisions for minutes, and the network no faster."""

    @wraps(step)
    def run(*arguments: Any, **named: Any) -> Any:
        if getattr(torch.compiler, "is_exporting", bool)() or torch._C._get_tracing_state() is not None:
            raise GottaError("an adapted model cannot be exported, because it changes. Export model.fold().")
        if not torch.compiler.is_dynamo_compiling():  # which it is inside torch.compile(adapted)
            return step(*arguments, **named)
        warn("an adapted model runs uncompiled, since it changes. Compile its network: adapt(torch.compile(net), ...).")
        return torch.compiler.disable(step)(*arguments, **named)  # type: ignore[no-untyped-call]

    return cast(Step, run)


def check_alone(setting: str, **others: Any) -> None:
    """Raises where something was given that belongs to one model, beside a setting that makes several of it."""
    for other in [other for other, given in others.items() if given]:
        raise GottaError(f"{setting} does not go with {other}, which is of one model alone. Leave one of them out.")


def check_method(method: Method) -> None:
    """Refuse what would be taken back at every step, and say what is worse than it seems."""
    types = {parameter.dtype for parameter in method.model.parameters()} & {*HALF}
    trained = {parameter.dtype for parameter in method.trained.values()}
    if torch.float16 in trained and isinstance(method.optimizer, torch.optim.Adam):
        raise GottaError(
            f"method '{method.name}' trains with Adam, whose smallest numbers are 0 in float16, so that each step "
            "would divide by 0. Give the network in float32 and call the adapted model inside torch.autocast, or use a "
            "method that trains nothing, such as 'deskew'."
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
    return is_compiled(method.model) and method.statistics.watches and has_batch_norm(method.model)


def check_outputs(adapted: "Adapted", logits: Tensor, samples: int) -> None:
    """Raises unless there are logits for each sample. A warning if the first ones are probabilities, whose softmax is
    nearly even.
    """
    check_shape(logits, samples, adapted.classes)
    if adapted.sample is None and bool((logits >= 0).all() & ((logits.sum(1) - 1).abs() < NEAR).all()):
        warn(
            "the network gives probabilities: each row is positive and sums to 1. Expected logits. Leave out the "
            "softmax, or adapt with output=lambda p: p.clamp_min(1e-12).log()."
        )


def warn(text: str) -> None:
    warnings.warn(text, NetworkWarning, stacklevel=4)


def not_stored(count: int) -> Tensor:
    """The slots of samples that went into no memory."""
    return torch.full((count,), -1)
