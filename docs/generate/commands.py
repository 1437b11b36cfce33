"""The command line reference, read from the commands themselves."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer

from gotta.cli.__main__ import app


def command_pages() -> dict[str, str]:
    """File name -> text: one page with every command."""
    head = [
        "# Commands",
        "",
        "Every command with its options, as `gotta COMMAND --help` prints them. "
        "[The command by example](../commands.md) shows how they are used.",
        "",
    ]
    parts = [describe(words, command) for words, command in walk(typer.main.get_command(app), ["gotta"])]
    return {"commands.md": "\n".join(head + parts)}


def walk(command: Any, words: list[str]) -> Iterator[tuple[list[str], Any]]:
    """Every command that does something, with the words that call it."""
    children = getattr(command, "commands", None)
    if children is None:
        yield words, command
        return
    for name, child in children.items():
        yield from walk(child, [*words, name])


def describe(words: list[str], command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = " ".join([*words, *(wrap_argument(p) for p in arguments), "[OPTIONS]"])
    lines = [f"## {' '.join(words)}", "", "```text", usage, "```", "", clean(command.help), ""]
    rows = [(f"`{p.name.upper()}`", p) for p in arguments]
    rows += [(", ".join(f"`{opt}`" for opt in [*p.opts, *p.secondary_opts]), p) for p in options]
    if rows:
        lines += ["| | meaning | default |", "|---|---|---|"]
        lines += [f"| {name} | {in_cell(p.help)} | {default(p)} |" for name, p in rows]
    return "\n".join(lines) + "\n"


def wrap_argument(argument: Any) -> str:
    name = argument.name.upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def clean(text: str | None) -> str:
    return re.sub(r"\n{3,}", "\n\n", inspect.cleandoc(text or ""))


def in_cell(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "").replace("|", "\\|").replace("<", "&lt;")


def default(parameter: Any) -> str:
    value = parameter.default
    if callable(value) or value in (None, "", False, ()) or parameter.required:
        return ""
    return f"`{value}`"
