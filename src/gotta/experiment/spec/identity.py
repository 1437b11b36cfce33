"""What the name of a run covers: the settings that differ from the default, and the version or the code of each part.

Another default is another version of its part, and so another run; an edited file of the user's is one too. What cannot
be known before the data is there, the content of data and weights, stands in the run's summary.
"""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gotta.core.true_labels import TRUE_LABELS
from gotta.experiment.spec.arguments import usual_arguments, usual_refresh
from gotta.experiment.spec.run_id import FORMAT
from gotta.experiment.spec.sections import FROM_ELSEWHERE, PARTS
from gotta.experiment.spec.source_files import is_own, source_files
from gotta.experiment.spec.user_parts import REGISTRIES
from gotta.experiment.spec.versions import GUARD, SPEC, as_plain, version_of
from gotta.models import foreign
from gotta.models.backbone import architectures
from gotta.streams import StreamSpec

if TYPE_CHECKING:
    from gotta.experiment.spec.run_spec import RunSpec


def identity_of(spec: "RunSpec") -> dict[str, Any]:
    """Plain content: it is stored with the run, and its hash is the run's name."""
    parts = {kind: describe_part(kind, name) for kind, name in name_parts(spec).items()}
    made = {"format": FORMAT, "spec": version_of(SPEC, str(FORMAT)), "settings": find_changed(spec), "parts": parts}
    plain: dict[str, Any] = json.loads(json.dumps(made, default=as_plain))
    return plain


def name_parts(spec: "RunSpec") -> dict[str, str]:
    """The parts of a run by kind. A network by name is identified by its weights, and has no version."""
    stream = {**asdict(StreamSpec()), **spec.stream}
    memory, model = spec.memory.name, spec.model.name
    named = {
        "data": spec.data.name,
        "order": str(stream["order"]),
        "schedule": str(stream["schedule"]),
        "memory": TRUE_LABELS.get(memory, memory),
        "method": spec.method.name,
        **{kind: name for kind in ("statistics", "prior") if (name := getattr(spec.method, kind)) is not None},
    }
    if (":" in model and not foreign.is_foreign(model)) or model in architectures.names():
        named["model"] = model
    return named | ({GUARD: GUARD} if spec.guard else {})


def describe_part(kind: str, name: str) -> dict[str, Any]:
    if kind == GUARD:
        return {"version": version_of(kind, name)}
    module = REGISTRIES[kind].module_of(name)
    if is_own(module):
        return {"version": version_of(kind, name)}
    return {"files": source_files(module, f"{REGISTRIES[kind].kind} '{name}'")}


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
