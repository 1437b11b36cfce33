"""Settings as dotted names and values, and which of them tell several apart."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from gotta.experiment.spec.run_spec import RunSpec


def flatten(sections: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested sections as dotted names and values.

    >>> flatten({"memory": {"name": "fps", "arguments": {"epsilon": 0.1}}, "seed": 0})
    {'memory.name': 'fps', 'memory.arguments.epsilon': 0.1, 'seed': 0}
    """
    result: dict[str, Any] = {}
    for key, value in sections.items():
        result |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return result


def tell_apart(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The first names whose values tell these settings apart: what only follows from another is not repeated.

    >>> tell_apart([{"capacity": 8, "batch_size": 8, "lr": 1}, {"capacity": 16, "batch_size": 16, "lr": 1}])
    ['capacity']
    """
    chosen: list[str] = []
    seen = [""] * len(settings)
    for name in dict.fromkeys(name for one in settings for name in one):
        finer = [f"{before} {one.get(name)!r}" for before, one in zip(seen, settings, strict=True)]
        if len(set(finer)) > len(set(seen)):
            chosen, seen = [*chosen, name], finer
    return chosen


def labels(specs: Sequence[RunSpec]) -> dict[str, str]:
    """A label for each run by its id; runs that share a label also show the settings they differ in."""
    alike: dict[str, list[RunSpec]] = defaultdict(list)
    for spec in specs:
        alike[spec.label].append(spec)
    told: dict[str, str] = {}
    for same in alike.values():
        names = find_varied(same) if len(same) > 1 else []
        for spec in same:
            values = [(name.split(".")[-1], value_of(spec, name)) for name in names]
            settings = [f"{name}={value}" for name, value in values if value is not None]
            told[spec.id] = ", ".join([spec.label, *settings])
    return told


def find_varied(specs: Sequence[RunSpec]) -> list[str]:
    """The dotted names of the settings that runs differ in, as few as tell them all apart."""
    return tell_apart([flatten(spec.model_dump()) for spec in specs])


def value_of(spec: RunSpec, name: str) -> Any:
    """A setting by its dotted name."""
    return flatten(spec.model_dump()).get(name)
