"""Settings as dotted names and values, and which of them tell several apart."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from gotta.experiment.spec.run_spec import RunSpec
from gotta.groups import group

Key = TypeVar("Key", bound=Hashable)


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


def tell_each_apart(
    keys: Iterable[Key], name: Callable[[Key], Hashable], settings: Callable[[Key], Mapping[str, Any]]
) -> dict[Key, list[tuple[str, Any]]]:
    """The settings, by the last part of their names, that tell each from the others of its name."""
    told = {}
    for alike in group(keys, name).values():
        known = [settings(key) for key in alike] if len(alike) > 1 else [{}]
        names = tell_apart(known)
        for key, one in zip(alike, known, strict=True):
            told[key] = [(name.rpartition(".")[2], one.get(name)) for name in names]
    return told


def labels(specs: Sequence[RunSpec]) -> dict[str, str]:
    """A label for each run by its id; runs that share a label also show the settings they differ in."""
    known = {spec.id: spec for spec in specs}
    apart = tell_each_apart(known, lambda id: known[id].label, lambda id: flatten(known[id].model_dump()))
    told = {id: [f"{name}={value}" for name, value in found if value is not None] for id, found in apart.items()}
    return {id: ", ".join([known[id].label, *settings]) for id, settings in told.items()}
