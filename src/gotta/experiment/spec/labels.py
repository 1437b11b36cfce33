"""Names for the runs of a sweep that tell them apart."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from gotta.experiment.spec.dotted import flatten, tell_apart
from gotta.experiment.spec.run_spec import RunSpec


def labels(specs: Sequence[RunSpec]) -> dict[str, str]:
    """A label for each run by its id; runs that share a label also show the settings they differ in."""
    alike: dict[str, list[RunSpec]] = defaultdict(list)
    for spec in specs:
        alike[spec.label].append(spec)
    return {spec.id: text for same in alike.values() for spec, text in zip(same, _tell_apart(same), strict=True)}


def find_varied(specs: Sequence[RunSpec]) -> list[str]:
    """The dotted names of the settings that runs differ in, as few as tell them all apart."""
    return tell_apart([flatten(spec.model_dump()) for spec in specs])


def value_of(spec: RunSpec, name: str) -> Any:
    """A setting by its dotted name."""
    return flatten(spec.model_dump()).get(name)


def _tell_apart(specs: Sequence[RunSpec]) -> list[str]:
    names = find_varied(specs) if len(specs) > 1 else []
    return [", ".join([spec.label, *_settings(spec, names)]) for spec in specs]


def _settings(spec: RunSpec, names: Sequence[str]) -> list[str]:
    """Each with its value; what the run has no value of is left out."""
    values = {name: value_of(spec, name) for name in names}
    return [f"{name.split('.')[-1]}={value}" for name, value in values.items() if value is not None]
