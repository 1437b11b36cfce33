"""Protocols: which runs may be ranked with one another. Each is a file with a name and a version, and never changes."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from gotta.core.exposure import SETTINGS as EXPOSURE
from gotta.core.regime import REGIMES
from gotta.errors import GottaError, check_known
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.sections import FROM_ELSEWHERE, Section
from gotta.experiment.spec.spec_errors import describe
from gotta.experiment.spec.text import merged, parse, read
from gotta.streams import DOMAIN_ORDERS, StreamSpec

FOLDER = Path(__file__).parents[2] / "protocols"
SIZE = (
    "per_class",
    "limit",
    "clips",
    "frames",
    "choose",
    "transitions",
)  # settings of a stream that a protocol leaves open
DOMAINS = ("domain_order", "domains")  # told by `domains` of a protocol, unless its stream names them


class Score(Section):
    """The number of a run that ranks it, and in words what it is."""

    number: str
    says: str


class Protocol(Section):
    """`data` are the data sets it allows, `domains` the list that all domains are of; `controls` go with a memory.

    `choices` are settings of the stream that may have any of some values; each value is a table of its own.
    """

    name: str
    title: str
    data: list[str]
    domains: str | None = None
    stream: dict[str, Any]
    choices: dict[str, list[Any]] = Field(default_factory=dict)
    regime: dict[str, Any]
    score: Score
    controls: list[str]

    def base(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a recipe of this protocol says for all its runs; `given`, its own base, may add to it."""
        own: dict[str, Any] = {"data": {"name": self.data[0]}, "stream": {}, "regime": {}}
        allowed = {**_only(self.stream), **self.choices}
        for section, rules in (("stream", allowed), ("regime", _only(self.regime))):
            for key, values in rules.items():
                own[section][key] = value = dict(given.get(section) or {}).get(key, values[0])
                if value not in values:
                    told = ", ".join("none" if known is None else str(known) for known in values)
                    way_out = f"Expected {told}, or leave it out."
                    raise GottaError(f"{section}.{key}={value} is not of protocol {self.name}. {way_out}")
        return merged(own, given)

    def holds(self, spec: RunSpec) -> bool:
        """Is a run with these settings of this protocol?"""
        usual = {name: value for name, value in asdict(StreamSpec()).items() if name not in (*FROM_ELSEWHERE, *SIZE)}
        unread = () if self.stream["order"] == "dirichlet" else ("gamma", "slots", "underflow")  # by this order
        ignored = {*DOMAINS} - {*self.stream} | {*unread}
        expected = {name: value for name, value in {**usual, **self.stream}.items() if name not in ignored}
        stream, regime = {**_only(expected), **self.choices}, {**dict.fromkeys(EXPOSURE), **self.regime}
        return (
            spec.data.name in self.data
            and all(_plain(spec.stream.get(key, usual.get(key))) in map(_plain, stream[key]) for key in stream)
            and all(getattr(spec.regime, name) == value for name, value in regime.items())
            and _steps_as_named(spec)
            and (self.domains is None or _domains(spec) <= set(DOMAIN_ORDERS[self.domains]))
        )


def _only(settings: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The one value of each setting, as of those that leave a choice."""
    return {name: [value] for name, value in settings.items()}


def protocols() -> list[str]:
    """The names of the protocols that come with gotta."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_protocol(name_or_path: str | Path) -> Protocol:
    """A protocol by its name, or from a YAML file of one's own."""
    path = Path(name_or_path)
    if path.suffix in (".yaml", ".yml"):
        return _read(path, read(path))
    return _load(str(name_or_path))


def find_protocol(spec: RunSpec) -> Protocol | None:
    """The protocol that a run is of, by its settings; of several versions the newest."""
    found = [protocol for protocol in map(_load, protocols()) if protocol.holds(spec)]
    return max(found, key=lambda protocol: int(protocol.name.rpartition("-")[2]), default=None)


def text_of(name: str) -> str:
    """The file of a protocol that comes with gotta."""
    check_known("protocol", name, protocols())
    return (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


def content_hash(name: str) -> str:
    """The sha256 of its file."""
    return hashlib.sha256(text_of(name).encode()).hexdigest()


@cache
def _load(name: str) -> Protocol:
    return _read(FOLDER / f"{name}.yaml", parse(text_of(name), name))


def _read(path: Path, content: Any) -> Protocol:
    if not isinstance(content, Mapping):
        raise GottaError(f"'{path}' is not a protocol: expected title, data, stream, regime, score and controls.")
    try:
        return Protocol.model_validate({**content, "name": path.stem})
    except ValidationError as error:
        raise GottaError(f"'{path}' is not a protocol: {describe(error.errors()[0], Protocol)}") from None


def _domains(spec: RunSpec) -> set[str]:
    """The corruptions of a run, without severities."""
    named = spec.stream.get("domains") or spec.stream.get("domain_order") or ()
    if isinstance(named, str):
        named = DOMAIN_ORDERS.get(named) or named.split(",")
    return {str(name).strip() for name in named}


def _steps_as_named(spec: RunSpec) -> bool:
    """Are batches and adaptations as large as the regime says? Without a memory, batches may be smaller: no help."""
    usual, between = REGIMES[spec.regime.name](spec.memory.capacity if spec.has_memory or spec.control else None)
    size, every = spec.regime.batch_size or usual, spec.regime.adapt_every
    if spec.has_memory or spec.control:
        return (size, every) == (usual, between if spec.has_memory else None)
    return size <= usual and every is None


def _plain(value: Any) -> Any:
    return [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else value
