"""RunSpec: everything that decides a run's numbers, complete, frozen, and checked with all mistakes shown at once."""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, fields
from functools import cached_property
from math import inf
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, ValidationError, model_serializer

from gotta.core.clock import CLOCKS
from gotta.core.loop import TRUE_LABELS
from gotta.core.pairing import PAIRINGS, choose_statistics
from gotta.core.regime import MOST, REGIMES, Regime
from gotta.data.dataset import check_arguments as check_dataset
from gotta.data.dataset import has_clips
from gotta.errors import GottaError, messages, unknown
from gotta.experiment.spec import outside
from gotta.experiment.spec.arguments import as_declared, lengthen_form, list_arguments, shorten_form
from gotta.experiment.spec.best_rates import settle_rate
from gotta.experiment.spec.clean_samples import asks_for_samples, decide_samples, without_samples
from gotta.experiment.spec.identity import identity_of
from gotta.experiment.spec.mistakes import Mistakes, in_words, without
from gotta.experiment.spec.run_id import run_id
from gotta.experiment.spec.source_files import find_changed
from gotta.memory import memory_class, policies
from gotta.memory.policy import make_policy
from gotta.methods import Method, Statistics, methods
from gotta.methods.settings import StatisticsName
from gotta.models.zoo import check as check_model
from gotta.printable import one_line
from gotta.streams import StreamSpec, check

FORMER = {"oracle": "true_kcenter"}  # controls by the names that they had
CONTROLS = {  # names, and what each of them is
    "running_statistics": "no memory; the method predicts with running statistics that the batches move",
    "same_samples": "no memory, and as many samples per step as the rows with a memory",
    "true_kcenter": "a memory that is told the true labels: k-centre within each class",
    "true_cstu": "the same with RoTTA's rule, CSTU",
    "true_pbrs": "the same with NOTE's rule, PBRS",
    "domain_statistics": "no memory; the statistics of each whole domain, known beforehand: the limit of statistics",
}
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
    prior: Literal["none", "sticky", "ema"] | None = None  # the method's own if left open
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


FIELDS = {"memory": list(MemorySpec.model_fields), "method": list(MethodSpec.model_fields)}
DEFAULTS = {"memory": MemorySpec().name, "method": MethodSpec().name}


def short(given: Mapping[str, Any]) -> dict[str, Any]:
    """A partial spec with the arguments of memory and method beside their other settings, ready to be merged."""
    return shorten_form(given, FIELDS)


class RunSpec(Section):
    """One cell of a table for one seed. Build it with `RunSpec.of`, which fills in what was left open."""

    data: DataSpec = DataSpec()
    stream: dict[str, Any] = {}
    model: ModelSpec = ModelSpec()
    memory: MemorySpec = MemorySpec()
    method: MethodSpec = MethodSpec()
    regime: RegimeSpec = RegimeSpec()
    pairing: str = "paper"
    control: str | None = None
    guard: Literal["warn", "freeze", "rollback"] | None = None
    seed: int = 0

    @classmethod
    def of(cls, given: Mapping[str, Any], imports: Collection[str] = ()) -> "RunSpec":
        """A complete spec from a partial one. Arguments of method and memory may stand beside their settings.

        Nothing is imported. A `module:Class` in it is refused unless its module is among `imports`, or the caller has
        given it before; what is left open of such a part stays open until it is run.
        """
        if not isinstance(given, Mapping):
            raise GottaError(f"a spec is sections and settings such as seed: 0; got {given!r}.")
        outside.permit(given, imports)
        given, mistakes = settle_rate(_renamed(lengthen_form(given, FIELDS, DEFAULTS)))
        try:
            spec = cls.model_validate(given)
        except ValidationError as error:
            mistakes += [_describe(problem, cls, given) for problem in error.errors()]
            # The rest is looked at as well, so that nobody has to come back for one mistake after the other.
            wrong = [problem["loc"] for problem in error.errors()]
            spec = cls.model_validate(without(given, wrong))
            if ("memory", "capacity") in wrong:  # it was given, if not well
                spec = spec.model_copy(update={"memory": spec.memory.model_copy(update={"capacity": 1})})
        mistakes += _mistakes(spec)
        if mistakes:
            raise Mistakes(mistakes)
        return _complete(spec)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What the name covers besides the spec, as it was when first asked for: in a worker, by the driver."""
        return identity_of(self)

    @cached_property
    def id(self) -> str:
        return run_id(self.model_dump(), self.identity)

    def check_unchanged(self) -> None:
        """Complain if this process would compute something else than the name says."""
        for name, now in identity_of(self)["parts"].items():
            if self.identity["parts"].get(name) != now:
                raise GottaError(
                    f"the code or the defaults of its {name} are not those that the sweep began with. Start it again."
                )
            if stale := find_changed(now.get("files", {})):
                raise GottaError(f"{', '.join(stale)} changed after it was imported. Start Python again.")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> "RunSpec":
        """A copy is another run, so it gets a name of its own."""
        copied = super().model_copy(update=update, deep=deep)
        for name in ("identity", "id"):
            copied.__dict__.pop(name, None)
        return copied

    @property
    def has_memory(self) -> bool:
        if self.memory.name in TRUE_LABELS or outside.is_outside("memory", self.memory.name):
            return True
        return memory_class(self.memory.name).lasts

    @property
    def label(self) -> str:
        return one_line(f"{self.method.name} + {self.control or self.memory.name}, seed {self.seed}")

    def stream_spec(self) -> StreamSpec:
        assert self.regime.batch_size is not None
        return StreamSpec.of(
            **self.stream,
            batch_size=self.regime.batch_size,
            reset_at_domain=self.regime.reset == "each_domain",
            drop_single=self.regime.batch_size > 1,
            seed=self.seed,
        )


def _renamed(given: dict[str, Any]) -> dict[str, Any]:
    """The same with the names that controls have now."""
    memory, control = given.get("memory"), given.get("control")
    if isinstance(control, str) and control in FORMER:
        given = {**given, "control": FORMER[control]}
        if isinstance(memory, Mapping) and memory.get("name") == control:
            given["memory"] = {**memory, "name": FORMER[control]}
    return given


def _complete(spec: RunSpec) -> RunSpec:
    """The spec with every open setting decided, so that it says by itself what was run."""
    spec = _with_control(_with_declared_numbers(spec))
    steps = spec.memory.capacity if spec.has_memory or spec.control else None
    own = _own_method(spec)
    score = spec.regime.score or (own.native_score if own else None)
    regime = REGIMES[spec.regime.name](steps, spec.regime.reset, score or "before")
    batch_size = spec.regime.batch_size or regime.batch_size
    adapt_every = spec.regime.adapt_every or (regime.adapt_every if spec.has_memory else None)
    pace = None if spec.regime.clock == "none" else spec.regime.pace or 1.0
    method = spec.method if own is None else _with_statistics(spec, own)
    stream = {name: value for name, value in asdict(StreamSpec.of(**spec.stream)).items() if name not in FROM_ELSEWHERE}
    changes = {
        "stream": _with_boundaries(stream, method.prior, spec.data.name),
        "regime": spec.regime.model_copy(
            update={"batch_size": batch_size, "adapt_every": adapt_every, "score": score, "pace": pace}
        ),
        "method": method,
    }
    # Through JSON, so that a spec read back from a file is the same content.
    return RunSpec.model_validate(json.loads(spec.model_copy(update=changes).model_dump_json()))


def _with_boundaries(stream: dict[str, Any], prior: str | None, data: str) -> dict[str, Any]:
    """A prior is told where the clips of a video begin, unless the spec hides it.

    Where that says nothing it is left out, as an unused length of runs is, so that such runs keep the name they had.
    """
    unused = {"boundaries", "run_length"} if stream["run_length"] is None else {"boundaries"}
    others = {name: value for name, value in stream.items() if name not in unused}
    if stream["boundaries"] is None and (
        prior in (None, "none") or outside.is_outside("data", data) or not has_clips(data)
    ):
        return others
    return {**others, "boundaries": stream["boundaries"] or "told"}


def _own_method(spec: RunSpec) -> type[Method] | None:
    """The method, if it can be looked at without importing it."""
    return None if outside.is_outside("method", spec.method.name) else methods.get(spec.method.name)


def statistics_of(spec: RunSpec, method: type[Method]) -> Statistics:
    """Which statistics this method predicts with in this run."""
    given = spec.method.model_dump(include={"statistics", "fed_by", "rate"})
    return choose_statistics(
        method, spec.has_memory, spec.pairing, spec.method.arguments.get("preset", "official"), **given
    )


def _with_statistics(spec: RunSpec, method: type[Method]) -> MethodSpec:
    statistics = statistics_of(spec, method)
    running = statistics.source == "running"
    return spec.method.model_copy(
        update={
            "statistics": statistics.source,
            "fed_by": statistics.fed_by if running else None,
            "rate": statistics.rate if running else None,
            **_prior(spec.method, method),
        }
    )


def _prior(spec: MethodSpec, method: type[Method]) -> dict[str, str | None]:
    """The settings of the prior; none where there is none and the method has none of its own."""
    name = spec.prior or method.native_prior
    if name == "none":
        return {"prior": None if method.native_prior == "none" else "none", "labels": None, "order_in_batch": None}
    return {"prior": name, "labels": spec.labels or "filtered", "order_in_batch": spec.order_in_batch or "time"}


def _with_declared_numbers(spec: RunSpec) -> RunSpec:
    changes = {}
    for section, chosen in (("memory", spec.memory), ("method", spec.method)):
        if chosen.arguments and chosen.name not in TRUE_LABELS and not outside.is_outside(section, chosen.name):
            arguments = as_declared(section, chosen.name, chosen.arguments)
            if section == "method" and (setting := asks_for_samples(chosen.name, arguments)):
                arguments[setting] = decide_samples(setting, arguments[setting], spec.data.name).model_dump()
            changes[section] = chosen.model_copy(update={"arguments": arguments})
    return spec.model_copy(update=changes)


def _with_control(spec: RunSpec) -> RunSpec:
    """The named combinations that no published table has; each keeps the steps of the memory rows it stands beside."""
    if spec.control is None:
        return spec
    name = spec.control if spec.control in TRUE_LABELS else "none"
    changes: dict[str, Any] = {"memory": spec.memory.model_copy(update={"name": name, "arguments": {}})}
    if spec.control == "domain_statistics":
        changes["method"] = spec.method.model_copy(update={"statistics": "source"})
    if spec.control == "running_statistics":
        rate = spec.method.rate or (_own_method(spec) or Method).paired.rate
        running = {"statistics": "running", "fed_by": "batch", "rate": rate}
        changes["method"] = spec.method.model_copy(update=running)
    return spec.model_copy(update=changes)


def _mistakes(spec: RunSpec) -> list[str]:
    parts: dict[str, Callable[[], object]] = {
        "data": lambda: check_dataset(spec.data.name, spec.data.arguments),
        "model": lambda: check_model(**dict(spec.model)),  # its name; whether its weights are here is another question
        "method": lambda: _check_method(spec),
        "memory": lambda: _check_memory(spec.memory),
    }
    looks: list[Callable[[], object]] = [
        *(look for section, look in parts.items() if not outside.is_outside(section, getattr(spec, section).name)),
        lambda: _check_known("regime", spec.regime.name, REGIMES),
        lambda: _check_known("pairing", spec.pairing, PAIRINGS),
        lambda: _check_known("control", spec.control or "", CONTROLS, unless=spec.control is None),
        lambda: _check_known("clock", spec.regime.clock, CLOCKS),
        lambda: Regime(64 if spec.regime.batch_size is None else spec.regime.batch_size, spec.regime.adapt_every),
    ]
    found = outside.find_refused(spec.model_dump()) + messages(looks) + _stream_mistakes(spec.stream)
    if (told := spec.memory.name) in TRUE_LABELS and spec.control != told:
        found.append(f"memory '{told}' is told the true labels and exists as a control only. Use control: {told}.")
    if spec.memory.capacity is not None and spec.memory.capacity < 1:
        found.append(f"capacity={spec.memory.capacity} holds nothing. Expected at least 1, or memory: none.")
    if spec.memory.capacity is not None and spec.memory.capacity > MOST:
        found.append(f"capacity={spec.memory.capacity} is too large. Expected at most {MOST:,}.")
    if spec.memory.capacity is None and (spec.control or spec.memory.name not in ("none", *TRUE_LABELS)):
        found.append(f"memory '{spec.memory.name}' needs a capacity, such as memory.capacity=64.")
    if spec.regime.pace is not None and not 0 < spec.regime.pace < inf:
        found.append(f"pace={spec.regime.pace} is not usable. Expected a number above 0: forwards per batch.")
    found += _prior_mistakes(spec.method) + _embedding_mistakes(spec)
    if spec.seed < 0:
        found.append(f"seed={spec.seed} is negative. Expected 0 or more.")
    return found


def _prior_mistakes(method: MethodSpec) -> list[str]:
    given = [name for name in PRIOR[1:] if getattr(method, name) is not None]
    if not given or outside.is_outside("method", method.name) or messages([lambda: methods.get(method.name)]):
        return []
    if (method.prior or methods.get(method.name).native_prior) != "none":
        return []
    return [
        f"method.{given[0]} is a setting of the prior, and there is none. Use method.prior=sticky, or leave it out."
    ]


def _embedding_mistakes(spec: RunSpec) -> list[str]:
    name, embedding = spec.memory.name, spec.method.embedding
    if spec.control or embedding == "probs" or outside.is_outside("memory", name) or name not in policies.names():
        return []
    if not getattr(policies.get(name), "needs_probs", False):
        return []
    return [f"memory '{name}' reads confidence from probabilities. Use method.embedding=probs (got {embedding})."]


def _check_method(spec: RunSpec) -> None:
    methods.check_arguments(spec.method.name, without_samples(spec.method.name, spec.method.arguments))
    if setting := asks_for_samples(spec.method.name, spec.method.arguments):
        decide_samples(setting, spec.method.arguments[setting], spec.data.name)


def _check_memory(memory: MemorySpec) -> None:
    if memory.name not in TRUE_LABELS:
        make_policy(memory.name, memory.arguments)


def _stream_mistakes(stream: Mapping[str, Any]) -> list[str]:
    known = [field.name for field in fields(StreamSpec) if field.name not in FROM_ELSEWHERE]
    wrong = [str(unknown("argument of stream", name, known)) for name in stream if name not in known]
    right = {name: value for name, value in stream.items() if name in known}
    return wrong + check(StreamSpec(**right))


def _check_known(kind: str, name: str, known: Collection[str], unless: bool = False) -> None:
    if not unless and name not in known:
        raise unknown(kind, name, known)


def _describe(problem: Any, cls: type[BaseModel], given: Mapping[str, Any]) -> str:
    """One of pydantic's findings in our words."""
    *path, last = [str(part) for part in problem["loc"]]
    where = ".".join([*path, last])
    if problem["type"] != "extra_forbidden":
        return f"{where}: {in_words(problem)}; got {problem['input']!r}."
    section: Any = cls
    for part in path:
        section = section.model_fields[part].annotation
    known = list(section.model_fields)
    if path and path[0] in DEFAULTS:
        known += list_arguments(path[0], given[path[0]].get("name", DEFAULTS[path[0]])) or []
    return str(unknown("setting", where, [".".join([*path, name]) for name in known]))
