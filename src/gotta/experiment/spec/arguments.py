"""The short form of a spec: `method: {lr: 0.1}` instead of `method: {arguments: {lr: 0.1}}`."""

import inspect
from collections.abc import Mapping
from typing import Any

from gotta.errors import GottaError
from gotta.experiment.spec.outside import is_outside
from gotta.memory import policies
from gotta.methods import methods
from gotta.methods.settings import hyper_parameters

FROM_ELSEWHERE = ("model", "statistics", "embed", "seed")  # arguments of a method that other settings decide
SECTIONS = ("memory", "method")


def list_arguments(section: str, name: Any) -> list[str] | None:
    """What the chosen memory or method takes as arguments; None if that cannot be told."""
    if is_outside(section, name):
        return None
    try:
        cls = policies.get(name) if section == "memory" else methods.get(name)
    except (GottaError, TypeError):
        return None
    parameters = inspect.signature(cls).parameters.values()
    named = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name not in FROM_ELSEWHERE]
    if hasattr(cls, "presets"):  # a method's own settings are in its presets, not in its signature
        return [*named, *cls.presets["official"], *cls.inputs]
    return None if any(p.kind is p.VAR_KEYWORD for p in parameters) else named


def usual_arguments(section: str, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the arguments are that nobody gave: the preset's values, and the defaults; {} if that cannot be told."""
    if is_outside(section, name):
        return {}
    try:
        cls: Any = policies.get(name) if section == "memory" else methods.get(name)
        own = hyper_parameters(cls, given.get("preset", "official")) if section == "method" else {}
    except (GottaError, AttributeError):
        return {}
    parameters = inspect.signature(cls).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty and p.name not in FROM_ELSEWHERE}
    return {**defaults, **own}


def as_declared(section: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with whole numbers as floats where the memory or method takes a float: 1 and 1.0 are one run."""
    floats = _floats(section, name)
    return {key: float(value) if key in floats and type(value) is int else value for key, value in arguments.items()}


def _floats(section: str, name: str) -> set[str]:
    if section == "method":
        return {
            key
            for preset in methods.get(name).presets.values()
            for key, usual in preset.items()
            if type(usual) is float
        }
    parameters = inspect.signature(policies.get(name)).parameters.values()
    return {p.name for p in parameters if p.annotation in (float, "float", float | None) or type(p.default) is float}


def shorten_form(given: Mapping[str, Any], fields: Mapping[str, list[str]]) -> dict[str, Any]:
    """The short form: arguments beside the section's own settings, unless one of those has the same name.

    Sections are merged in this form, so that it does not matter in which form each of them was written.
    """
    result = dict(given)
    for section in SECTIONS:
        content = result.get(section)
        if isinstance(content, Mapping) and isinstance(content.get("arguments"), Mapping):
            own = {name: value for name, value in content.items() if name != "arguments"}
            kept = {name: value for name, value in content["arguments"].items() if name in fields[section]}
            short = {name: value for name, value in content["arguments"].items() if name not in fields[section]}
            result[section] = {**short, **own, **({"arguments": kept} if kept else {})}
    return result


def lengthen_form(
    given: Mapping[str, Any], fields: Mapping[str, list[str]], default: Mapping[str, str]
) -> dict[str, Any]:
    """The long form: what the section has no field for and the chosen class takes becomes one of its arguments.

    What neither knows stays where it is, to be complained about.
    """
    result = shorten_form(given, fields)
    for section in SECTIONS:
        content = result.get(section)
        if not isinstance(content, Mapping):
            continue
        known = list_arguments(section, content.get("name", default[section]))
        sinking = {
            name: value
            for name, value in content.items()
            if name not in fields[section] and (known is None or name in known)
        }
        if sinking:
            own = {name: value for name, value in content.items() if name not in sinking}
            result[section] = {**own, "arguments": {**sinking, **own.get("arguments", {})}}
    return result
