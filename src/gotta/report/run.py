"""A finished run as a report sees it: typed, and checked once, when the store is read."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from gotta.errors import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.settings import flatten
from gotta.experiment.sweep.store import Run as StoredRun
from gotta.experiment.sweep.store import Store
from gotta.metrics.online import visit_names
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
    no_effect: str = ""  # why what the run tried changes nothing on its network, if so


@dataclass(frozen=True, eq=False)
class Run:
    """`stored` is the run as the store holds it, for whoever wants every key of it."""

    id: str
    spec: RunSpec
    stream: StreamSpec
    summary: Summary
    stored: StoredRun

    @classmethod
    def of(cls, stored: StoredRun) -> "Run":
        try:
            spec = RunSpec.model_validate(stored.spec)
            summary = Summary.model_validate(stored.summary)
            stream = StreamSpec(**spec.stream)  # names of parts are not looked up: they may be somebody else's
        except (ValidationError, TypeError) as error:
            raise GottaError(f"it does not fit this version of gotta: {_first(error)}") from None
        return cls(stored.id, spec, stream, summary, stored)

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
        """The recipe it was made for; empty where nobody noted it."""
        return ""

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The spec as dotted names and values: `memory.capacity`."""
        return flatten(self.spec.model_dump())

    def section(self, *names: str) -> dict[str, Any]:
        """The settings of these sections of the spec, one section after the other."""
        return {
            name: value for section in names for name, value in self.settings.items() if name.split(".")[0] == section
        }

    @cached_property
    def numbers(self) -> dict[str, float]:
        """The finite numbers of the results by their dotted names: `online.ece`."""
        found = flatten(self.stored.summary)
        return {name: float(value) for name, value in found.items() if _is_number(value)}

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


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _first(error: ValidationError | TypeError) -> str:
    if isinstance(error, TypeError):
        return str(error)
    problem = error.errors()[0]
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
