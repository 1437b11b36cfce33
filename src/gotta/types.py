"""The values that pass between the parts. Frozen, with nothing but derived values on them.

True labels exist in `Truth` only; whatever predicts, remembers or adapts receives types that have no field for them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

__all__ = ["MemoryBatch", "Outcome", "Prediction", "Step", "Truth", "torch_images"]

T = TypeVar("T")
IntArray = NDArray[np.int64]
Floats = NDArray[np.float64]
Images = NDArray[np.uint8]  # [N, H, W, 3]

PAIR = re.compile(r"([a-z_]+)-(\d(?:\.\d+)?)\+([a-z_]+)-(\d(?:\.\d+)?)")
FOREIGN = -1  # the label of an image that belongs to no class; only streams and metrics see it

# The standard corruptions in their canonical order, which is also the standard order of domains.
CORRUPTIONS = (
    *("gaussian_noise", "shot_noise", "impulse_noise"),
    *("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    *("snow", "frost", "fog", "brightness"),
    *("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
)


class computed_once(Generic[T]):
    """A property that is computed at its first use.

    `functools.cached_property` has one lock for all objects before Python 3.12, so that a prediction would wait for the
    thread behind it.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.name, self.__doc__ = compute, compute.__name__, compute.__doc__

    def __get__(self, owner: Any, kind: type) -> T:
        if owner is None:
            return self  # type: ignore[return-value]
        value = owner.__dict__[self.name] = self.compute(owner)
        return value


@dataclass(frozen=True)
class Truth:
    """What only metrics may see: for each sample of a step its label, its domain and its row in the data set."""

    label: IntArray  # [B]
    domain: IntArray  # [B], positions in Stream.domains
    index: IntArray  # [B]


@dataclass(frozen=True)
class Step:
    """One batch of a stream."""

    x: Tensor  # [B, 3, H, W] float32 in [0, 1]
    truth: Truth


@dataclass(frozen=True)
class Prediction:
    """What the deployed model says of a batch, computed once."""

    logits: Tensor  # [B, C]
    features: Tensor | None = None  # [B, D]
    embed: str = "probs"  # what `embedding` is: probs, logits or features
    before_prior: "Prediction | None" = None  # the network's own, where a prior has changed it

    @property
    def raw(self) -> "Prediction":
        """What the network says by itself."""
        return self.before_prior or self

    @computed_once
    def probs(self) -> Tensor:
        return self.logits.softmax(1)

    @computed_once
    def label(self) -> Tensor:
        return self.logits.argmax(1)

    @computed_once
    def uncertainty(self) -> Tensor:
        """-sum p ln(p + 1e-6) as RoTTA computes it: a saturated softmax gives -1e-6."""
        p = self.probs.double()
        return -(p * (p + 1e-6).log()).sum(1)

    @computed_once
    def embedding(self) -> Tensor:
        value = getattr(self, self.embed)
        assert isinstance(value, Tensor), f"no {self.embed} in this prediction"
        return value


@dataclass(frozen=True)
class MemoryBatch:
    """The samples to adapt on: class ascending, then insertion. Ages count samples."""

    x: Tensor  # [N, ...]
    label: Tensor  # [N] int64
    uncertainty: Tensor  # [N] float64
    embedding: Tensor  # [N, D]
    age: Tensor  # [N] int64
    capacity: int = 1  # of the memory, which relative ages are measured by

    def __len__(self) -> int:
        return len(self.label)


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


class Dataset(Protocol):
    """Random access to the images of several domains that share one list of labels; nothing else."""

    @property
    def labels(self) -> IntArray: ...  # [N]

    @property
    def domains(self) -> Sequence[str]: ...

    @property
    def num_classes(self) -> int: ...

    def images(self, domain: str, indices: IntArray) -> Images: ...


def domain_name(corruption: str, severity: int) -> str:
    """The name of a corrupted domain: `snow-5`."""
    return f"{corruption}-{severity}"


def pair_name(first: str, severity: float, second: str, other: float) -> str:
    """The name of a domain of two corruptions: `snow-2.25+fog-0.5`."""
    return f"{first}-{severity:g}+{second}-{other:g}"


def read_pair(domain: str) -> tuple[tuple[str, float], tuple[str, float]] | None:
    """The corruptions and severities in the name of such a domain; None if it is another one.

    >>> read_pair("snow-2.25+fog-0.5")
    (('snow', 2.25), ('fog', 0.5))
    """
    found = PAIR.fullmatch(domain)
    return ((found[1], float(found[2])), (found[3], float(found[4]))) if found else None


def torch_images(images: Images) -> Tensor:
    """uint8 [N, H, W, 3] to float32 [N, 3, H, W] in [0, 1], as every model here takes them."""
    return torch.from_numpy(images.astype(np.float32)).permute(0, 3, 1, 2).div_(255.0)
