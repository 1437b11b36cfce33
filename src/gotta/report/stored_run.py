"""A finished run as a report sees it: typed, and checked once, when the store is read."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from gotta.errors import GottaError
from gotta.experiment.spec.dotted import flatten
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.store import Run as StoredRun
from gotta.experiment.sweep.store import Store
from gotta.metrics.online import visit_names
from gotta.report.provenance import list_origins
from gotta.streams import StreamSpec

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
    """`order_hash` is of the samples in their order, `hash` of the cuts into batches as well."""

    hash: str | None = None
    order_hash: str | None = None


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
    """What a part was: its settings with their defaults or, if it is the user's own, the hashes of its files."""

    settings: dict[str, Any] = {}
    files: dict[str, str] = {}


class Identity(_Results):
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
            stream = StreamSpec(**spec.stream)  # names of parts are not looked up: they may be somebody else's
        except (ValidationError, TypeError) as error:
            raise GottaError(f"it does not fit this version of gotta: {_first(error)}") from None
        return cls(stored.id, spec, stream, summary, identity, stored)

    @property
    def seed(self) -> int:
        return self.spec.seed

    @property
    def environment(self) -> Mapping[str, Any]:
        return self.stored.environment

    @property
    def folder(self) -> Path | None:
        return self.stored.folder

    @property
    def recipe(self) -> str:
        """The title of the recipe it was made for; empty where there was none."""
        return str(self.stored.recipe.get("title", ""))

    @property
    def is_earlier(self) -> bool:
        """Is it of an earlier format?"""
        return self.stored.is_earlier

    @property
    def version(self) -> str:
        """Of gotta, as the run noted it."""
        return self.summary.gotta or str(self.environment.get("gotta") or "")

    @cached_property
    def made_of(self) -> dict[str, Any]:
        """The settings, and after them what else tells runs apart."""
        return {**self.settings, **list_origins(self)}

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The spec as dotted names and values: `memory.capacity`."""
        return flatten(self.spec.model_dump())

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
        return {name: float(value) for name, value in found.items() if _is_number(value)}

    @property
    def prior(self) -> str:
        """What its predictions take from the order of samples: `none`, or the name of the prior."""
        return self.spec.method.prior or "none"

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


def read_runs(store: Store) -> tuple[list[Run], list[Damaged]]:
    """The runs of a store by id, and those that cannot be read."""
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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _first(error: ValidationError | TypeError) -> str:
    if isinstance(error, TypeError):
        return str(error)
    problem = error.errors()[0]
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
