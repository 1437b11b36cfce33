"""What the name of a run covers: the settings that differ from the default, and the version or the code of each part.

Another default is another version of its part, and so another run; an edited file of the user's is one too. What cannot
be known before the data is there, the content of data and weights, stands in the run's summary.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gotta.core.true_labels import TRUE_LABELS
from gotta.experiment.spec import user_parts
from gotta.experiment.spec.arguments import usual_arguments, usual_refresh
from gotta.experiment.spec.sections import FROM_ELSEWHERE, PARTS, MethodSpec
from gotta.experiment.spec.source_files import is_own, source_files
from gotta.json_yaml import parse_yaml
from gotta.methods import Method, methods
from gotta.models import foreign
from gotta.models.backbone import architectures
from gotta.streams import StreamSpec

if TYPE_CHECKING:
    from gotta.experiment.spec.run_spec import RunSpec

FORMAT = 3  # of a spec and of a stored run


def hash_of(content: Mapping[str, Any]) -> str:
    """The sha256 of what JSON says of it: the same for the same content on every machine, whatever the order."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def run_id(identity: Mapping[str, Any]) -> str:
    """The content as a name."""
    return hash_of(identity)[:16]


FILE = Path(__file__).with_name("versions.yaml")
GUARD = "guard"
WAITING = "waiting"  # of training, in domains alone
SPEC = "spec"


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


def as_plain(value: Any) -> Any:
    """A default that is not JSON. Without its address, which is another one in every process."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"class": type(value).__qualname__} | {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(value)
    return getattr(value, "__qualname__", None) or f"{type(value).__module__}.{type(value).__qualname__}"


def identity_of(spec: "RunSpec") -> dict[str, Any]:
    """Plain content: it is stored with the run, and its hash is the run's name."""
    parts = {kind: describe_part(kind, name) for kind, name in name_parts(spec).items()}
    made = {"format": FORMAT, "spec": version_of(SPEC, str(FORMAT)), "settings": find_changed(spec), "parts": parts}
    plain: dict[str, Any] = json.loads(json.dumps(made, default=as_plain))
    return plain


def name_parts(spec: "RunSpec") -> dict[str, str]:
    """The parts of a run by kind. A network by name is identified by its weights, and has no version."""
    named = user_parts.find_parts({**spec.model_dump(), "stream": {**asdict(StreamSpec()), **spec.stream}})
    named["memory"] = TRUE_LABELS.get(spec.memory.name, spec.memory.name)
    model = spec.model.name
    if (":" not in model or foreign.is_foreign(model)) and model not in architectures.names():
        del named["model"]
    return named | ({GUARD: GUARD} if spec.guard else {}) | ({WAITING: WAITING} if waits(spec.method) else {})


def waits(chosen: MethodSpec) -> bool:
    """Whether it trains in the domains alone that its statistics find, as far as the spec can tell."""
    trains = not is_own(methods.module_of(chosen.name)) or methods.get(chosen.name).adapt is not Method.adapt
    return trains and chosen.statistics in ("class", "gated")


def describe_part(kind: str, name: str) -> dict[str, Any]:
    if kind in (GUARD, WAITING) or is_own(module := user_parts.REGISTRIES[kind].module_of(name)):
        return {"version": version_of(kind, name)}
    return {"files": source_files(module, f"{user_parts.REGISTRIES[kind].kind} '{name}'")}


def find_changed(spec: "RunSpec") -> dict[str, Any]:
    """The settings that differ from the default, section by section."""
    usual = {name: field.get_default(call_default_factory=True) for name, field in type(spec).model_fields.items()}
    found: dict[str, Any] = {}
    for name, value in spec.model_dump().items():
        if not isinstance(value, dict):
            found |= {} if value == usual[name] else {name: value}
        elif own := _differing(value, _usual(spec, name, usual[name])):
            found[name] = own
    return found


def _usual(spec: "RunSpec", section: str, default: Any) -> dict[str, Any]:
    if section == "stream":
        return {name: value for name, value in asdict(StreamSpec()).items() if name not in FROM_ELSEWHERE}
    fields: dict[str, Any] = default.model_dump()
    if section in PARTS:
        chosen = getattr(spec, section)
        refresh = {"refresh_every": usual_refresh(chosen.name)} if section == "memory" else {}
        return usual_arguments(section, chosen.name, chosen.arguments) | fields | refresh
    return fields


def _differing(content: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    plain = json.loads(json.dumps(usual, default=as_plain))
    return {name: value for name, value in content.items() if name not in plain or value != plain[name]}
