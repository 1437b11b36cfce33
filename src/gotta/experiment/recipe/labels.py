"""Names for the runs of a sweep that tell them apart."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from gotta.core.loop import TRUE_LABELS
from gotta.experiment.spec.arguments import usual_arguments
from gotta.experiment.spec.dotted import flatten, tell_apart
from gotta.experiment.spec.outside import is_outside
from gotta.experiment.spec.run_spec import RunSpec
from gotta.memory import policies


def labels(specs: Sequence[RunSpec]) -> dict[str, str]:
    """A label for each run by its id; runs of one label are told apart by the settings they differ in."""
    alike: dict[str, list[RunSpec]] = defaultdict(list)
    for spec in specs:
        alike[spec.label].append(spec)
    return {spec.id: text for same in alike.values() for spec, text in zip(same, _tell_apart(same), strict=True)}


def find_varied(specs: Sequence[RunSpec]) -> list[str]:
    """The dotted names of the settings that runs differ in, as few as tell them all apart."""
    return tell_apart([flatten(spec.model_dump()) for spec in specs])


def value_of(spec: RunSpec, name: str) -> Any:
    """A setting by its dotted name; of an argument that was not given, what the preset or the default says."""
    section, _, key = name.rpartition(".")
    found = flatten(spec.model_dump()).get(name)
    if found is None and section in ("memory.arguments", "method.arguments"):
        kind = section.partition(".")[0]
        chosen = getattr(spec, kind)
        found = usual_arguments(kind, chosen.name, chosen.arguments).get(key)
    unseen = spec.memory.name in TRUE_LABELS or is_outside("memory", spec.memory.name)
    if found is None and name == "memory.refresh_every" and not unseen:
        found = getattr(policies.get(spec.memory.name), key, None)
    return found


def _tell_apart(specs: Sequence[RunSpec]) -> list[str]:
    names = find_varied(specs) if len(specs) > 1 else []
    told = [", ".join([spec.label, *_settings(spec, names)]) for spec in specs]
    if len(set(told)) < len(told):  # one run says what another leaves to its default
        told = [", ".join([spec.label, *_settings(spec, names, " by default")]) for spec in specs]
    return told


def _settings(spec: RunSpec, names: Sequence[str], usual: str = "") -> list[str]:
    """Each with its value; what the run has no value of is left out. `usual` marks what was not given."""
    given = flatten(spec.model_dump())
    values = {name: value_of(spec, name) for name in names}
    return [
        f"{name.split('.')[-1]}={value}{usual if given.get(name) is None else ''}"
        for name, value in values.items()
        if value is not None
    ]
