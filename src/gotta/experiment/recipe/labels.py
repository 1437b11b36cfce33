"""Names for the runs of a sweep that tell them apart."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from gotta.experiment.spec.run_spec import RunSpec


def labels(specs: Sequence[RunSpec]) -> dict[str, str]:
    """A label for each run by its id; runs of one label are told apart by the settings they differ in."""
    alike: dict[str, list[RunSpec]] = defaultdict(list)
    for spec in specs:
        alike[spec.label].append(spec)
    return {spec.id: text for same in alike.values() for spec, text in zip(same, _told_apart(same), strict=True)}


def _told_apart(specs: Sequence[RunSpec]) -> list[str]:
    if len(specs) == 1:
        return [specs[0].label]
    settings = [flat(spec.model_dump()) for spec in specs]
    chosen: list[str] = []
    for name in dict.fromkeys(name for one in settings for name in one):
        tried = [*chosen, name]
        if len({_values(one, tried) for one in settings}) > len({_values(one, chosen) for one in settings}):
            chosen = tried
    told = [", ".join(f"{name.split('.')[-1]}={one.get(name)}" for name in chosen) for one in settings]
    return [f"{spec.label}, {text}" for spec, text in zip(specs, told, strict=True)]


def _values(settings: dict[str, Any], names: Sequence[str]) -> str:
    return repr([settings.get(name) for name in names])


def flat(section: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested sections as dotted names and values."""
    result: dict[str, Any] = {}
    for key, value in section.items():
        result |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return result
