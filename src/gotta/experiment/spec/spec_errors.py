"""What is wrong with a spec or a recipe, all of it in one message."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any, get_args

from pydantic import BaseModel

from gotta.errors import GottaError, unknown

Place = tuple[int | str, ...]
NAMED = dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "expected settings by name: {name: ...}")
WORDS = {"too_short": "expected at least one entry", **NAMED}


class SpecErrors(GottaError):
    """Everything that is wrong with a spec, or with `where`."""

    def __init__(self, mistakes: Sequence[str], where: str = "the spec") -> None:
        super().__init__(together(mistakes, where))
        self.mistakes = list(mistakes)


def together(mistakes: Sequence[str], where: str = "the spec") -> str:
    """Several mistakes as one message."""
    if len(mistakes) == 1:
        return mistakes[0]
    return f"{len(mistakes)} mistakes in {where}:\n" + "\n".join(f"  - {mistake}" for mistake in mistakes)


def in_words(problem: Any) -> str:
    """What one of pydantic's findings expected, in our words where its own speak of Python."""
    if problem["type"] == "list_type":
        return "expected a list" + ("" if problem["input"] is None else f", such as [{problem['input']}]")
    message = str(problem["msg"]).removeprefix("Value error, ")
    return WORDS.get(problem["type"], f"{message[0].lower()}{message[1:]}")


def describe(problem: Any, cls: type[BaseModel], kind: str = "setting", below: str = "") -> str:
    """One of pydantic's findings in our words; `below` is the setting whose content the model is."""
    path = [part for part in (below, *map(str, problem["loc"])) if part]
    where = ".".join(path)
    if problem["type"] == "extra_forbidden":
        for part in problem["loc"][:-1]:
            cls = _find_model(cls.model_fields[part].annotation) or cls if isinstance(part, str) else cls
        return str(unknown(kind, where, [".".join([*path[:-1], name]) for name in cls.model_fields]))
    if problem["type"] == "missing":
        return f"{where} is missing."
    return f"{where}: {in_words(problem).rstrip('.')}; got {problem['input']!r:.80}."


def _find_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_find_model, get_args(annotation))), None)


def without(given: Mapping[str, Any], places: Sequence[Place]) -> dict[str, Any]:
    """A copy with what stands at these places left out; later entries of a list must be named after earlier ones."""
    result = deepcopy(dict(given))
    for *path, last in reversed(places):
        with suppress(KeyError, IndexError, TypeError):
            del inside(result, path)[last]
    return result


def inside(content: Any, path: Sequence[int | str]) -> Any:
    """What stands at this place of nested mappings and lists; None where there is none."""
    for part in path:
        try:
            content = content[part]
        except (KeyError, IndexError, TypeError):
            return None
    return content
