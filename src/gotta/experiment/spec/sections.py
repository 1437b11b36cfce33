"""The sections of a spec: what each of them may say, and what they are where nothing is said."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from gotta.core.exposure import SETTINGS as EXPOSURE
from gotta.core.exposure import Exposure
from gotta.core.regime import MOST

PRIOR = ("prior", "labels", "order_in_batch")  # settings of the method that say what the order of samples tells
FROM_ELSEWHERE = ("batch_size", "reset_at_domain", "drop_single", "seed")  # stream settings the rest of a spec decides


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class PartSection(Section):
    """Names a part. What it has no field for is an argument of that part: `{name: fps, capacity: 64, epsilon: 0.1}`."""

    model_config = ConfigDict(extra="allow")
    name: str

    @property
    def arguments(self) -> dict[str, Any]:
        return dict(self.model_extra or {})

    def with_arguments(self, arguments: Mapping[str, Any]) -> Self:
        own = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**own, **arguments})


class DataSpec(PartSection):
    name: str = "cifar10-mini"


class ModelSpec(Section):
    name: str = "resnet20"
    weights: str | None = None  # a checkpoint, in the data home unless its path is whole; or "random"
    preprocessing: str | None = None  # mean and deviation by name, where they are not the usual ones
    head: str | None = None  # a file of class embeddings for a network that gives features, or "classifier"
    scale: float | None = None  # what their cosine to the features is multiplied by; left open: the inner product


class MemorySpec(PartSection):
    name: str = "none"
    capacity: Annotated[int, Field(ge=1, le=MOST)] | None = None
    refresh_every: int | None = None


class MethodSpec(PartSection):
    name: str = "source"
    statistics: str | None = None
    fed_by: Literal["batch", "memory"] | None = None
    rate: float | None = None
    prior: str | None = None  # the method's own if left open
    labels: Literal["filtered", "raw"] | None = None  # with a prior: what memory and statistics go by
    order_in_batch: Literal["time", "none"] | None = None  # with a prior: whether samples of a batch are in time order
    embedding: Literal["probs", "logits", "features"] = "probs"


class RegimeSpec(Section):
    name: str = "steps_of_M"
    batch_size: int | None = None
    adapt_every: int | None = None
    reset: Literal["never", "each_domain", "each_batch"] = "never"
    score: Literal["before", "after"] | None = None  # the method's own if left open
    clock: str = "none"  # whether the stream waits; if not, what a step costs
    # Forwards of a batch in the time between two batches, for a stream that does not wait.
    pace: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    expose_every: int | None = None  # only every so many batches are adapted to; all of them are scored
    expose_share: float | None = None  # only this share of the batches, drawn at random
    expose_first: int | None = None  # only the first so many samples, of the stream or of each domain if that resets
    surrogates: bool = False  # whether what needs no labels is recorded, for choosing settings: three forwards more
    deterministic: bool = True  # whether a GPU must repeat its numbers; else it may take TF32 and what is fastest

    @property
    def exposure(self) -> Exposure:
        return Exposure(**{name: getattr(self, name) for name in EXPOSURE})


PARTS: dict[str, type[PartSection]] = {"data": DataSpec, "memory": MemorySpec, "method": MethodSpec}
FIELDS = {section: list(cls.model_fields) for section, cls in PARTS.items()}
DEFAULTS = {section: str(cls.model_fields["name"].default) for section, cls in PARTS.items()}


def name_of(section: str, sections: Mapping[str, Any]) -> str:
    """The part that a partial spec names in this section, or else the usual one."""
    content = sections.get(section)
    return str(content.get("name", DEFAULTS[section])) if isinstance(content, Mapping) else DEFAULTS[section]
