"""Names for the runs of a sweep that tell them apart."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from gotta.experiment.spec.arguments import usual_arguments
from gotta.experiment.spec.run_spec import ORACLE, RunSpec
from gotta.memory import policies


def labels(specs: Sequence[RunSpec]) -> dict[str, str]:
    """A label for each run by its id; runs of one label are told apart by the settings they differ in."""
    alike: dict[str, list[RunSpec]] = defaultdict(list)
    for spec in specs:
        alike[spec.label].append(spec)
    return {spec.id: text for same in alike.values() for spec, text in zip(same, _told_apart(same), strict=True)}


def varied(specs: Sequence[RunSpec]) -> list[str]:
    """The dotted names of the settings that runs differ in, as few as tell them all apart."""
    settings = [flat(spec.model_dump()) for spec in specs]
    chosen: list[str] = []
    for name in dict.fromkeys(name for one in settings for name in one):
        tried = [*chosen, name]
        if len({_values(one, tried) for one in settings}) > len({_values(one, chosen) for one in settings}):
            chosen = tried
    return chosen


def value_of(spec: RunSpec, name: str) -> Any:
    """A setting by its dotted name; of an argument that was not given, what the preset or the default says."""
    section, _, key = name.rpartition(".")
    found = flat(spec.model_dump()).get(name)
    if found is None and section in ("memory.arguments", "method.arguments"):
        kind = section.partition(".")[0]
        chosen = getattr(spec, kind)
        found = usual_arguments(kind, chosen.name, chosen.arguments).get(key)
    if found is None and name == "memory.refresh_every" and spec.memory.name != ORACLE:
        found = getattr(policies.get(spec.memory.name), key, None)
    return found


def _told_apart(specs: Sequence[RunSpec]) -> list[str]:
    names = varied(specs) if len(specs) > 1 else []
    told = [", ".join([spec.label, *_settings(spec, names)]) for spec in specs]
    if len(set(told)) < len(told):  # one run says what another leaves to its default
        told = [", ".join([spec.label, *_settings(spec, names, " by default")]) for spec in specs]
    return told


def _settings(spec: RunSpec, names: Sequence[str], usual: str = "") -> list[str]:
    """Each with its value; what the run has no value of is left out. `usual` marks what was not given."""
    given = flat(spec.model_dump())
    values = {name: value_of(spec, name) for name in names}
    return [
        f"{name.split('.')[-1]}={value}{usual if given.get(name) is None else ''}"
        for name, value in values.items()
        if value is not None
    ]


def _values(settings: dict[str, Any], names: Sequence[str]) -> str:
    return repr([settings.get(name) for name in names])


def flat(section: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested sections as dotted names and values."""
    result: dict[str, Any] = {}
    for key, value in section.items():
        result |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return result
