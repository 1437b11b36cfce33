"""The public edge: pages, tutorials, examples and plug-ins use what `__all__` names, and nothing else of gotta."""

import ast
import inspect
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest
from generate.api import ROOMS
from page_blocks import pages, read_blocks

PARTS = ("memory", "methods", "statistics", "priors", "streams", "data", "models", "metrics", "workflow")
ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "examples").rglob("*.py"))


def python_of(place):
    """Each piece of Python in a page, or a file of Python."""
    if place.endswith(".py"):
        return [(ROOT / place).read_text(encoding="utf-8")]
    return [block.text for block in read_blocks(place) if block.language == "python"]


def imported(code):
    """Module and name of everything that is imported from gotta; no name for a module."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gotta":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "gotta")


def test_pages_and_examples_import_public_names_alone():
    found = [(place, *one) for place in [*pages(), *EXAMPLES] for code in python_of(place) for one in imported(code)]
    assert len(found) > 50
    private = []
    for place, module, name in found:
        is_room = f"{module}.{name}".rstrip(".") in ROOMS
        if not is_room and (module not in ROOMS or name not in import_module(module).__all__):
            private.append((place, module, name))
    assert private == []


def public_callables():
    """Every class and function of the contract once, by the name under which it is public."""
    known = {}
    for room in ("gotta", *(room for room in ROOMS if room.split(".")[1:] in ([part] for part in PARTS))):
        module = import_module(room)
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type) and issubclass(thing, Exception):
                continue  # which takes a message
            if inspect.isclass(thing) or inspect.isfunction(thing):
                known.setdefault(thing, f"{room}.{name}")
    return {name: thing for thing, name in known.items()}


@pytest.mark.parametrize(("name", "thing"), public_callables().items(), ids=list(public_callables()))
def test_a_public_name_has_documented_arguments_and_an_example(name, thing):
    docs = [inspect.getdoc(thing) or ""]
    if inspect.isclass(thing):
        docs += [cls.__doc__ or "" for cls in thing.__mro__[1:] if cls.__module__.startswith("gotta.")]
        docs += [inspect.getdoc(thing.__init__) or "", *comments_of(thing)]
    assert ">>>" in docs[0]
    parameters = inspect.signature(thing).parameters.values()
    asked = [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name != "self"]
    told = "\n".join(docs)
    if len(asked) < 2:  # then its first sentence says what that is
        return
    assert [parameter for parameter in asked if f"`{parameter}" not in told and f"{parameter}:" not in told] == []


def comments_of(cls):
    """Fields of a dataclass may be explained beside them, or in a line above."""
    lines = inspect.getsource(cls).splitlines()
    return [line for above, line in pairwise(lines) if ":" in line and ("  # " in line or above.startswith("    # "))]
