"""Specs and settings as text: YAML in and out, and dotted names such as `method.lr=1e-4`."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from gotta.errors import GottaError
from gotta.experiment.spec.run_spec import RunSpec

WHOLE = ("data", "model")  # sections whose settings belong to the thing they name


class _Loader(yaml.SafeLoader):
    """YAML as people write numbers: 1e-4 is one, although YAML 1.1 wants 1.0e-4. A key that stands twice is refused."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for key, _ in reversed(node.value):
            if names.count(key.value) > 1:
                raise yaml.MarkedYAMLError(problem=f"'{key.value}' stands twice", problem_mark=key.start_mark)
        return super().construct_mapping(node, deep)


_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)[eE][-+]?\d+")
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+.0123456789"))


def parse(text: str, where: str) -> Any:
    """The value that a YAML text stands for; `where` names the text in an error."""
    try:
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        raise GottaError(f"{where} is not YAML: {_reason(error)}.") from None


def _reason(error: yaml.YAMLError) -> str:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem is None:
        return " ".join(str(error).split())
    at = f"line {error.problem_mark.line + 1}, column {error.problem_mark.column + 1}: " if error.problem_mark else ""
    tab = ". Indent with spaces" if "'\\t'" in error.problem else ""
    return at + " ".join(part for part in (error.context, error.problem) if part) + tab


def read(path: Path) -> Any:
    """The content of a YAML file."""
    try:
        return parse(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GottaError(f"'{path}' cannot be read: {reason}. Expected a YAML file.") from None


def dump(spec: RunSpec | Mapping[str, Any]) -> str:
    """A spec as readable YAML that `gotta run` takes."""
    content = spec.model_dump() if isinstance(spec, RunSpec) else dict(spec)
    # Short lists and mappings stay on one line, which is how one would write them.
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110, default_flow_style=None)


def dotted(settings: Iterable[str]) -> dict[str, Any]:
    """`method.lr=1e-4`, `seed=3` and so on as nested sections; a later one stands over an earlier one."""
    given: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not all(name.split(".")):
            raise GottaError(f"'{setting}' is not a setting. Expected section.name=value, such as method.lr=1e-4.")
        given = merged(given, nested(name, parse(text, f"the value of {name}")))
    return given


def nested(name: str, value: Any) -> dict[str, Any]:
    """`nested("a.b", 1)` is `{"a": {"b": 1}}`."""
    for part in reversed(name.split(".")):
        value = {part: value}
    return dict(value)


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over`, section by section. Another data set or model keeps nothing of the last one."""
    result = dict(base)
    for key, value in over.items():
        below: Any = result.get(key)
        if (
            not isinstance(below, Mapping)
            or not isinstance(value, Mapping)
            or (key in WHOLE and _renamed(below, value))
        ):
            result[key] = value
        else:
            result[key] = merged(below, value)
    return result


def _renamed(below: Any, value: Any) -> bool:
    return "name" in below and value.get("name", below["name"]) != below["name"]
