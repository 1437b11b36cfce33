"""A spec as people give it: a file, settings in words, or both."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gotta.errors import GottaError
from gotta.experiment.spec.text import dotted, merged, read


def read_settings(given: Sequence[str], options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """`spec.yaml method.name=norm` as nested sections; `options` stand over the file and under the settings."""
    path, settings = split_settings(given)
    content = read_spec(path) if path else {}
    return merged(merged(content, options or {}), settings)


def split_settings(given: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The path of the spec file, if the first of them is one, and the others as nested sections."""
    first = [given[0]] if given and "=" not in given[0] else []
    return "".join(first), dotted(given[len(first) :])


def read_spec(path: str | Path) -> dict[str, Any]:
    """The sections of a spec file."""
    if not Path(path).is_file():
        raise GottaError(f"'{path}' is neither a spec file nor a setting. Expected section.name=value.")
    content = read(Path(path)) or {}
    if not isinstance(content, dict):
        raise GottaError(f"'{path}' is not a spec: expected sections and settings, got {type(content).__name__}.")
    return content
