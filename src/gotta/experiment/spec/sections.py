"""The sections of a spec: what each of them may say, and what they are where nothing is said."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from gotta.core.exposure import SETTINGS as EXPOSURE
from gotta.core.exposure import Exposure
from gotta.experiment.spec import outside
from gotta.experiment.spec.arguments import shorten_form
from gotta.methods import Method, methods
from gotta.methods.settings import StatisticsName

PRIOR = ("prior", "labels", "order_in_batch")  # settings of the method that say what the order of samples tells
FROM_ELSEWHERE = ("batch_size", "reset_at_domain", "drop_single", "seed")  # stream settings the rest of a spec decides


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class DataSpec(Section):
    name: str = "cifar10-mini"
    arguments: dict[str, Any] = {}

    @model_serializer(mode="wrap")
    def _what_is_set(self, inner: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without arguments if there are none, so that such runs keep the name they had without them."""
        return {name: value for name, value in inner(self).items() if value != {}}


class ModelSpec(Section):
    name: str = "resnet20"
    weights: str | None = None  # a checkpoint, in the data home unless its path is whole; or "random"
    preprocessing: str | None = None  # mean and deviation by name, where they are not the usual ones
    head: str | None = None  # a file of class embeddings for a network that gives features, or "classifier"
    scale: float | None = None  # what their cosine to the features is multiplied by; left open: the inner product

    @model_serializer(mode="wrap")
    def _what_is_set(self, inner: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without what was left open, so that runs of bundled networks keep the name they had without it."""
        return {name: value for name, value in inner(self).items() if value is not None}


class MemorySpec(Section):
    name: str = "none"
    capacity: int | None = None
    refresh_every: int | None = None
    arguments: dict[str, Any] = {}


class MethodSpec(Section):
    name: str = "source"
    statistics: StatisticsName | None = None
    fed_by: Literal["batch", "memory"] | None = None
    rate: float | None = None
    prior: Literal["none", "sticky", "patient", "ema"] | None = None  # the method's own if left open
    labels: Literal["filtered", "raw"] | None = None  # with a prior: what memory and statistics go by
    order_in_batch: Literal["time", "none"] | None = None  # with a prior: whether samples of a batch are in time order
    embedding: Literal["probs", "logits", "features"] = "probs"
    arguments: dict[str, Any] = {}

    @model_serializer(mode="wrap")
    def _what_is_set(self, inner: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without a prior if there is none, so that such runs keep the name they had before there were priors."""
        return {name: value for name, value in inner(self).items() if name not in PRIOR or value is not None}


class RegimeSpec(Section):
    name: str = "steps_of_M"
    batch_size: int | None = None
    adapt_every: int | None = None
    reset: Literal["never", "each_domain", "each_batch"] = "never"
    score: Literal["before", "after"] | None = None  # the method's own if left open
    clock: str = "none"  # whether the stream waits; if not, what a step costs
    pace: float | None = None  # forwards of a batch in the time between two batches, for a stream that does not wait
    expose_every: int | None = None  # only every so many batches are adapted to; all of them are scored
    expose_share: float | None = None  # only this share of the batches, drawn at random
    expose_first: int | None = None  # only the first so many samples, of the stream or of each domain if that resets
    surrogates: bool = False  # whether what needs no labels is recorded, for choosing settings: three forwards more

    @model_serializer(mode="wrap")
    def _what_is_set(self, inner: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without what limits nothing and records nothing, so that such runs keep the name they had before it."""
        later = (*EXPOSURE, "surrogates")
        return {name: value for name, value in inner(self).items() if name not in later or value}

    @property
    def exposure(self) -> Exposure:
        return Exposure(**{name: getattr(self, name) for name in EXPOSURE})


FIELDS = {"memory": list(MemorySpec.model_fields), "method": list(MethodSpec.model_fields)}
DEFAULTS = {"memory": MemorySpec().name, "method": MethodSpec().name}


def short(given: Mapping[str, Any]) -> dict[str, Any]:
    """A partial spec with the arguments of memory and method beside their other settings, ready to be merged."""
    return shorten_form(given, FIELDS)


def own_method(method: MethodSpec) -> type[Method] | None:
    """The method, if it can be looked at without importing it."""
    return None if outside.is_outside("method", method.name) else methods.get(method.name)
