"""A finished run as a report sees it: typed, and checked once, when the store is read."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from gotta.errors import GottaError
from gotta.experiment.spec.dotted import flatten
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.sections import FIELDS
from gotta.experiment.spec.spec_errors import describe
from gotta.experiment.sweep.kept import Runs
from gotta.experiment.sweep.store import Run as StoredRun
from gotta.methods import methods
from gotta.metrics.online import visit_names
from gotta.streams import StreamSpec

SHOWN = 8  # digits of a hash
CODE, VERSION = "code", "version"  # what tells apart what parts were, by the names of settings
Damaged = tuple[str, str]  # the id of a run and why it cannot be read


class _Results(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Domain(_Results):
    """One visit to a domain of the stream."""

    name: str
    samples: int
    accuracy: float | None = None
    error: float | None = None


class Online(_Results):
    domains: tuple[Domain, ...] = ()


class StreamHashes(_Results):
    order_hash: str | None = None  # of the samples in their order


class Summary(_Results):
    """What a report asks for by name; the numbers are in `Run.numbers`."""

    online: Online = Online()
    decisions: dict[str, int] = {}
    stream: StreamHashes = StreamHashes()
    gotta: str | None = None  # its version
    data_sha256: str | None = None
    weights_sha256: str | None = None
    notes: tuple[str, ...] = ()  # what memory and method say of their setting
    no_effect: str = ""  # why what the run tried changes nothing on its network, if so


class PartIdentity(_Results):
    """What a part was: its version or, if it is the user's own, the hashes of its files."""

    version: int | None = None
    files: dict[str, str] = {}


class Identity(_Results):
    settings: dict[str, Any] = {}  # those that differ from the default
    parts: dict[str, PartIdentity] = {}


@dataclass(frozen=True, eq=False)
class Run:
    """`stored` is the run as the store holds it, for whoever wants every key of it."""

    id: str
    spec: RunSpec
    stream: StreamSpec
    summary: Summary
    identity: Identity
    stored: StoredRun

    @classmethod
    def of(cls, stored: StoredRun) -> "Run":
        try:
            spec = RunSpec.model_validate(stored.spec)
            summary = Summary.model_validate(stored.summary)
            identity = Identity.model_validate(stored.identity)
            _ = spec.regime.exposure  # which raises where no run can have been so
            stream = StreamSpec(**spec.stream)  # names of parts are not looked up: they may be somebody else's
        except (ValidationError, TypeError) as error:
            told = describe(error.errors()[0], RunSpec) if isinstance(error, ValidationError) else error
            raise GottaError(f"it does not fit this version of gotta: {told}") from None
        return cls(stored.id, spec, stream, summary, identity, stored)

    @property
    def seed(self) -> int:
        return self.spec.seed

    @property
    def environment(self) -> Mapping[str, Any]:
        return self.stored.environment

    @property
    def recipe(self) -> str:
        """The title of the recipe it was made for; empty where there was none."""
        return str(self.stored.recipe.get("title", ""))

    @property
    def version(self) -> str:
        """Of gotta, as the run noted it."""
        return self.summary.gotta or str(self.environment.get("gotta") or "")

    @cached_property
    def made_of(self) -> dict[str, Any]:
        """Every setting, and after them what else tells runs apart."""
        return {**flatten(self.spec.model_dump()), **list_origins(self)}

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The spec as dotted names and values: `memory.capacity`. Arguments of parts only where they are not usual."""
        found = self.spec.model_dump()
        for section, fields in FIELDS.items():
            named = (*fields, *self.identity.settings.get(section, ()))
            found[section] = {name: value for name, value in found[section].items() if name in named}
        return flatten(found)

    @property
    def own_of_memory(self) -> dict[str, Any]:
        """The settings of its memory that are not the usual ones, whatever its capacity."""
        chosen = self.identity.settings.get("memory", {})
        return {name: value for name, value in chosen.items() if name not in ("name", "capacity")}

    def section(self, *names: str) -> dict[str, Any]:
        """The settings of these sections of the spec, one section after the other."""
        return _pick(self.settings, names)

    def parts(self, *names: str) -> dict[str, Any]:
        """The same with what else tells runs apart."""
        return _pick(self.made_of, names)

    @cached_property
    def numbers(self) -> dict[str, float]:
        """The finite numbers of the results by their dotted names: `online.ece`."""
        found = flatten(self.stored.summary)
        return {name: float(value) for name, value in found.items() if is_number(value)}

    @property
    def prior(self) -> str:
        """What its predictions take from the order of samples: `none`, or the name of the prior."""
        return self.spec.method.prior or "none"

    @property
    def uses_order(self) -> bool:
        """Do its predictions use the order of samples, or the mix of their batch?"""
        name = self.spec.method.name
        return self.prior != "none" or (name in methods.names() and methods.get(name).uses_order)

    @property
    def accuracy(self) -> float | None:
        return self.numbers.get("accuracy")

    @cached_property
    def domains(self) -> dict[str, Domain]:
        """The visits in their order by name; the second one to `snow-5` is `snow-5 (visit 2)`."""
        met = self.summary.online.domains
        return dict(zip(visit_names([domain.name for domain in met]), met, strict=True))

    def scores(self, metric: str = "accuracy") -> dict[str, float]:
        """Accuracy or error at each visit."""
        values = {name: getattr(domain, metric) for name, domain in self.domains.items()}
        return {name: value for name, value in values.items() if value is not None}


def samples_per_step(runs: Sequence[Run]) -> tuple[int, ...]:
    """After how many samples these runs predict and adapt anew; several where they differ."""
    regimes = [run.spec.regime for run in runs]
    return tuple(sorted({regime.adapt_every or regime.batch_size or 0 for regime in regimes}))


def read_runs(store: Runs) -> tuple[list[Run], list[Damaged]]:
    """The runs of a store, or of kept lines, by id, and those that cannot be read."""
    runs: list[Run] = []
    damaged: list[Damaged] = []
    for id, found in store.scan():
        try:
            if isinstance(found, str):
                raise GottaError(found)
            runs.append(Run.of(found))
        except GottaError as problem:
            damaged.append((id, str(problem)))
    return runs, damaged


def _pick(settings: Mapping[str, Any], sections: Sequence[str]) -> dict[str, Any]:
    return {name: value for section in sections for name, value in settings.items() if name.split(".")[0] == section}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def list_origins(run: Run) -> dict[str, Any]:
    """By dotted names in the sections they belong to, so that they tell runs apart as settings do.

    The hashes of data and weights, the versions of gotta's parts, and the code of the user's own.
    """
    hashes = {"data.data_hash": run.summary.data_sha256, "model.weights_hash": run.summary.weights_sha256}
    found: dict[str, Any] = {name: value[:SHOWN] for name, value in hashes.items() if value}
    for name, part in run.identity.parts.items():
        prefix = f"stream.{name}_" if name in ("order", "schedule") else f"{name}."  # others have a section of a spec
        found |= {prefix + CODE: _short(part.files)} if part.files else {prefix + VERSION: part.version}
    return found


def _short(files: Mapping[str, str]) -> str:
    """Of one file its own hash, which `sha256sum` gives as well."""
    if len(files) == 1:
        return next(iter(files.values()))[:SHOWN]
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:SHOWN]
