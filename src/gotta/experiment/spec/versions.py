"""The version of each part and of the spec: it goes up with their defaults, so that another default is another run.

`versions.yaml` has it beside a hash of the defaults. A test fails where defaults have changed and the hash has not:
raise the version there, or, for a new setting whose default changes nothing, only renew the hash.
"""

import hashlib
import inspect
import json
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from gotta.core import guard
from gotta.experiment.spec.run_id import FORMAT
from gotta.experiment.spec.sections import PARTS, ModelSpec, RegimeSpec, Section
from gotta.experiment.spec.source_files import is_own
from gotta.experiment.spec.user_parts import REGISTRIES
from gotta.json_yaml import parse_yaml
from gotta.methods import Method
from gotta.streams import StreamSpec

FILE = Path(__file__).with_suffix(".yaml")
GUARD = "guard"
SPEC = "spec"
OF_METHODS = ("native", "paired", "native_prior", "native_labels", "native_reset_every", "native_score", "presets")


@cache
def read_versions() -> dict[tuple[str, str], tuple[int, str]]:
    """By kind and name of a part: its version, and the hash of the defaults it has in that version."""
    found = {}
    for kind, parts in parse_yaml(FILE.read_text()).items():
        for name, pinned in parts.items():
            version, digest = pinned.split()
            found[kind, str(name)] = int(version), digest
    return found


def version_of(kind: str, name: str) -> int:
    """The version of a part of gotta's; one that was never changed has the first."""
    return read_versions().get((kind, name), (1, ""))[0]


def list_parts() -> list[tuple[str, str]]:
    """Everything that has a version, by kind and name."""
    parts = [
        (kind, name)
        for kind, registry in REGISTRIES.items()
        for name in registry.names()
        if is_own(registry.module_of(name))
    ]
    return [*parts, (GUARD, GUARD), (SPEC, str(FORMAT))]


def hash_defaults(kind: str, name: str) -> str:
    canonical = json.dumps(defaults_of(kind, name), sort_keys=True, default=as_plain)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def defaults_of(kind: str, name: str) -> dict[str, Any]:
    """What a part is where nothing is said."""
    if kind == SPEC:
        sections: dict[str, type[Section]] = {**PARTS, "model": ModelSpec, "regime": RegimeSpec}
        return {"stream": asdict(StreamSpec()), **{name: cls().model_dump() for name, cls in sections.items()}}
    if kind == GUARD:
        return {name: value for name, value in vars(guard).items() if name.isupper() and isinstance(value, int | float)}
    item: Any = REGISTRIES[kind].get(name)
    if isinstance(item, type) and issubclass(item, Method):
        own = {attribute: getattr(item, attribute) for attribute in OF_METHODS}
        return {**list_defaults(item), **own, "quirks": sorted(item.known_quirks)}
    return {**list_defaults(item), **(_list_numbers(item) if isinstance(item, type) else {})}


def _list_numbers(cls: type) -> dict[str, Any]:
    """What stands in the class itself, such as how often a memory refreshes."""
    return {
        name: value
        for base in reversed(cls.__mro__)
        for name, value in vars(base).items()
        if not name.startswith("_") and isinstance(value, int | float | str)
    }


def list_defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """The arguments that may be left out, as they are then."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def as_plain(value: Any) -> Any:
    """A default that is not JSON. Without its address, which is another one in every process."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"class": type(value).__qualname__} | {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(value)
    return getattr(value, "__qualname__", None) or f"{type(value).__module__}.{type(value).__qualname__}"
