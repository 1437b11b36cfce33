"""What an adapted model accepts: a batch, and the logits the network makes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gotta.errors import GottaError, NotFinite
from gotta.state import count, number

MOST = 1e3  # nothing real grows by a larger factor from one batch to the next
ENOUGH = 64  # samples in a row of another scale altogether, after which that is the scale
TOKENS = (torch.int64, torch.int32)  # of texts; images of bytes are mistakes
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


def check_storable(x: Tensor, beside: Sequence[str], stored: bool) -> None:
    """Raises where samples would be stored, in a memory or by a guard, that cannot be predicted again alone."""
    if stored and beside:
        raise GottaError(
            f"the network takes {', '.join(beside)} beside each sample, and a memory or a guard stores the sample "
            "alone. Use memory='none' without a guard, or a network that takes one tensor."
        )
    if stored and x.dtype in TOKENS:
        raise GottaError(
            f"a memory or a guard stores samples of floating numbers (got {x.dtype}: token ids?). Use memory='none' "
            "without a guard."
        )


def check_batch(x: Tensor, sample: tuple[int, ...] | None, batch_statistics: bool) -> list[float]:
    """Raises unless x is a batch like the earlier ones, whose samples had the shape `sample`.

    Gives the largest absolute value of each sample.
    """
    tokens = isinstance(x, Tensor) and x.dtype in TOKENS
    if not tokens and not (isinstance(x, Tensor) and x.is_floating_point()):
        got = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise GottaError(f"a batch of {got} cannot be predicted. {EXPECTED}; images go from 0 to 1.")
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
            f"a single sample x is the batch x[None]."
        )


def is_finite(values: Tensor) -> bool:
    """Whether all of them are. A sum is finite only if every part is; that of large finite numbers may overflow."""
    return isfinite(float(values.sum())) or bool(torch.isfinite(values).all())


def check_finite(logits: Tensor) -> None:
    if not is_finite(logits):
        raise NotFinite(
            "the model gives NaN or infinite logits, so this batch is left out. reset() goes back to the source."
        )


def device_of(model: nn.Module) -> torch.device:
    return next((value.device for value in [*model.parameters(), *model.buffers()]), torch.device("cpu"))
