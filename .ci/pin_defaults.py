"""Write `versions.yaml` anew: the version of each part with a hash of its defaults.

A part whose defaults differ from those that are pinned gets the next version, and its runs another name. With --neutral
it keeps its version: that is for a new setting whose default changes nothing.
"""

import hashlib
import json
import sys
from dataclasses import asdict
from typing import Any

import yaml

from gotta.core import guard
from gotta.experiment.spec.arguments import list_defaults
from gotta.experiment.spec.identity import FILE, FORMAT, GUARD, SPEC, WAITING, as_plain, read_versions
from gotta.experiment.spec.sections import PARTS, ModelSpec, RegimeSpec, Section
from gotta.experiment.spec.source_files import is_own
from gotta.experiment.spec.user_parts import REGISTRIES
from gotta.methods import Method
from gotta.streams import StreamSpec

OF_METHODS = ("native", "paired", "native_prior", "native_labels", "native_reset_every", "native_score", "presets")


def pin(neutral: bool) -> dict[str, dict[str, str]]:
    pinned: dict[str, dict[str, str]] = {}
    for kind, name in list_parts():
        now = hash_defaults(kind, name)
        version, was = read_versions().get((kind, name), (1, now))
        pinned.setdefault(kind, {})[name] = f"{version + (was != now and not neutral)} {now}"
    return pinned


def list_parts() -> list[tuple[str, str]]:
    """Everything that has a version, by kind and name."""
    parts = [
        (kind, name)
        for kind, registry in REGISTRIES.items()
        for name in registry.names()
        if is_own(registry.module_of(name))
    ]
    return [*parts, (GUARD, GUARD), (WAITING, WAITING), (SPEC, str(FORMAT))]


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
    if kind == WAITING:
        return {}
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


if __name__ == "__main__":
    FILE.write_text(yaml.safe_dump(pin("--neutral" in sys.argv)))
