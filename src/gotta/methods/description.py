"""A method in words and numbers, for the command line and for people."""

import inspect
from dataclasses import asdict, is_dataclass
from typing import Any

from gotta.methods.method import methods
from gotta.methods.settings import Preset, preset_of
from gotta.registry import about
from gotta.statistics import Statistics


def describe(name: str) -> dict[str, Any]:
    """What a method does, its settings in every preset, where its statistics come from, and its quirks.

    `name` is one of `gotta.list_methods()`, or `module:Class` of the caller's.

    >>> from gotta.methods import describe
    >>> describe("tent")["presets"]["official"]["lr"]
    0.001
    """
    cls = methods.get(name)
    return {
        "name": name,
        "summary": about(cls),
        "paper": (inspect.getdoc(inspect.getmodule(cls)) or "").split("\n")[0],
        "presets": {preset: preset_of(cls, preset) for preset in cls.presets},
        "values from": {key: given.origin for key, given in cls.presets.items() if isinstance(given, Preset)},
        "inputs": dict(cls.inputs),
        "quirks": dict(cls.known_quirks),
        "statistics": {
            "without a memory": _statistics(cls.native),
            "with a memory": _statistics(cls.paired),
        },
        "score": cls.native_score,
    }


def _statistics(statistics: Statistics) -> dict[str, Any]:
    """The name, and the arguments where they have any."""
    return {"name": statistics.name, **(asdict(statistics) if is_dataclass(statistics) else {})}
