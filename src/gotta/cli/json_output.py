"""Answers of commands for other programs."""

import json
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for other programs.")]


def print_json(answer: Any) -> None:
    """One JSON document on the standard output."""
    print(json.dumps(to_plain(answer), indent=2, allow_nan=False))


def to_plain(value: Any) -> Any:
    """A value in JSON's types: objects as their fields, and as text what has no such form."""
    from gotta.json_yaml import plain

    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "model_dump"):  # a spec
        return to_plain(value.model_dump())
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | Set):
        return [to_plain(item) for item in value]
    found = plain(value)
    return found if found is None or isinstance(found, str | int | float | list) else str(found)
