"""Specs and settings as text: YAML in and out, and dotted names such as `method.lr=1e-4`."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import yaml

from gotta.errors import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.json_yaml import parse_yaml, read_bytes

WHOLE = ("data", "model")  # sections whose settings belong to the thing they name


def parse(text: str, where: str) -> Any:
    """The value that a YAML text stands for; `where` names the text in an error."""
    try:
        return parse_yaml(text)
    except yaml.YAMLError as error:
        raise GottaError(f"{where} is not YAML: {_reason(error)}.") from None
    except ValueError as error:
        raise GottaError(f"{where} cannot be used: {error}. Expected plain settings.") from None


def _reason(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem is None:
        return " ".join(str(error).split())
    at = f"line {error.problem_mark.line + 1}, column {error.problem_mark.column + 1}: " if error.problem_mark else ""
    tab = ". Indent with spaces" if "'\\t'" in error.problem else ""
    return at + " ".join(part for part in (error.context, error.problem) if part) + tab


def read(path: Path) -> Any:
    """The content of a YAML file."""
    try:
        text = read_bytes(path, links=True).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GottaError(f"'{path}' cannot be read: {reason}. Expected a YAML file.") from None
    return parse(text, str(path))


def dump(spec: RunSpec | Mapping[str, Any]) -> str:
    """A spec as readable YAML that `gotta run` takes."""
    content = spec.model_dump() if isinstance(spec, RunSpec) else dict(spec)
    # Short lists and mappings stay on one line, which is how one would write them.
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)


def sections(settings: Mapping[str, Any] | Iterable[str]) -> dict[str, Any]:
    """Settings as nested sections, a later one over an earlier one: texts such as `method.lr=1e-4`, or values by dotted
    name or by section."""
    named = settings.items() if isinstance(settings, Mapping) else map(_read_setting, settings)
    return reduce(merged, (nest(name, value) for name, value in named), {})


def _read_setting(setting: str) -> tuple[str, Any]:
    name, equals, text = setting.partition("=")
    if not equals or not all(name.split(".")):
        raise GottaError(f"'{setting}' is not a setting. Expected section.name=value, such as method.lr=1e-4.")
    return name, parse(text, f"the value of {name}")


def nest(name: str, value: Any) -> dict[str, Any]:
    """`nest("a.b", 1)` is `{"a": {"b": 1}}`."""
    for part in reversed(name.split(".")):
        value = {part: value}
    return dict(value)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over`, section by section. Another data set or model keeps nothing of the last one."""
    result = dict(base)
    for key, value in over.items():
        below: Any = result.get(key)
        nested = isinstance(below, Mapping) and isinstance(value, Mapping)
        goes_on = nested and not (key in WHOLE and _is_renamed(below, value))
        result[key] = merged(below, value) if goes_on else value
    return result


def _is_renamed(below: Any, value: Any) -> bool:
    return "name" in below and value.get("name", below["name"]) != below["name"]


def read_settings(given: Sequence[str]) -> dict[str, Any]:
    """`spec.yaml method.name=norm` as nested sections; settings stand over the file."""
    path, settings = split_settings(given)
    return merged(read_spec(path) if path else {}, settings)


def split_settings(given: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The path of the spec file, if the first of them is one, and the others as nested sections."""
    first = [given[0]] if given and "=" not in given[0] else []
    return "".join(first), sections(given[len(first) :])


def read_spec(path: str | Path) -> dict[str, Any]:
    """The sections of a spec file."""
    if not Path(path).is_file():
        raise GottaError(f"'{path}' is neither a spec file nor a setting. Expected section.name=value.")
    content = read(Path(path)) or {}
    if not isinstance(content, dict):
        raise GottaError(f"'{path}' is not a spec: expected sections and settings, got {type(content).__name__}.")
    return content
