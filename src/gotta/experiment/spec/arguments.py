"""The arguments of data set, memory and method: which there are, what they usually are, and 1 and 1.0 as one value."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from gotta.errors import GottaError, unknown
from gotta.experiment.spec.sections import FIELDS, name_of
from gotta.experiment.spec.user_parts import REGISTRIES, find_own
from gotta.methods import methods
from gotta.methods.settings import hyper_parameters

FROM_ELSEWHERE = ("model", "statistics", "embed", "seed")  # arguments of a method that other settings decide


def list_arguments(section: str, name: str) -> list[str] | None:
    """What the chosen memory or method takes as arguments; None if unknown."""
    if (cls := find_own(section, name)) is None:
        return None
    parameters = inspect.signature(cls).parameters.values()
    named = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and not _is_decided(section, p.name)]
    if section == "method":  # its own settings are in its presets, not in its signature
        return [*named, *cls.presets["official"], *cls.inputs]
    return None if any(p.kind is p.VAR_KEYWORD for p in parameters) else named


def find_unknown(given: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """A complaint about each setting of memory and method that neither the section nor the chosen part has."""
    found: dict[tuple[str, str], str] = {}
    for section in ("memory", "method"):
        content = given.get(section)
        if isinstance(content, Mapping) and (taken := list_arguments(section, name_of(section, given))) is not None:
            known = [f"{section}.{name}" for name in (*FIELDS[section], *taken)]
            odd = [key for key in content if f"{section}.{key}" not in known]
            found |= {(section, key): str(unknown("setting", f"{section}.{key}", known)) for key in odd}
    return found


def usual_arguments(section: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the arguments are that nobody gave: the preset's values, and the defaults; {} if unknown."""
    if (cls := find_own(section, name)) is None:
        return {}
    defaults = {name: value for name, value in list_defaults(cls).items() if not _is_decided(section, name)}
    if section != "method":
        return defaults
    try:
        own = hyper_parameters(cls, given.get("preset", "official"))
    except (GottaError, AttributeError):
        return {}
    return {**defaults, **{key: value for key, value in own.items() if key not in cls.inputs}}


def list_defaults(function: Callable[..., Any]) -> dict[str, Any]:
    """The arguments that may be left out, as they are then."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def usual_refresh(memory: str) -> int | None:
    """After how many adaptations a memory refreshes its rows by itself; None if it never does, or if unknown."""
    return getattr(find_own("memory", memory), "refresh_every", None)


def _is_decided(section: str, argument: str) -> bool:
    return section == "method" and (argument in FROM_ELSEWHERE or argument in FIELDS["method"])


def as_declared(section: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with whole numbers as floats where the part takes a float: 1 and 1.0 are one run."""
    floats = _floats(section, name)
    return {key: float(value) if key in floats and type(value) is int else value for key, value in arguments.items()}


def _floats(section: str, name: str) -> set[str]:
    if section == "method":
        presets = methods.get(name).presets.values()
        return {key for preset in presets for key, usual in preset.items() if type(usual) is float}
    parameters = inspect.signature(REGISTRIES[section].get(name)).parameters.values()
    return {p.name for p in parameters if p.annotation in (float, "float", float | None) or type(p.default) is float}
