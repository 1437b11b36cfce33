"""Settings as dotted names and values, and which of them tell several apart."""

from collections.abc import Mapping, Sequence
from typing import Any


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
