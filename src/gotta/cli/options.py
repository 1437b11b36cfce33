"""Commands as functions: the help of an option is a line of the docstring; and options that several commands share."""

import inspect
import json
import os
import re
import sys
from collections.abc import Callable
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from gotta.errors import GottaError

if TYPE_CHECKING:
    from gotta.report.stored_run import Run

# As in gotta.data.home and gotta.streams.ahead, which are not imported for --help.
DATA_HOME = "GOTTA_DATA"
DATA_WORKERS = "GOTTA_DATA_WORKERS"

KINDS = {"Arguments": typer.Argument, "Options": typer.Option}  # headings of a docstring
ENTRY = re.compile(r"^    (\w+): (.+(?:\n {5,}.+)*)", re.MULTILINE)
DataDir = Annotated[
    Path | None,
    typer.Option(help=f"The folder of your data sets. Default: what {DATA_HOME} names, or your own for programs."),
]
DataWorkers = Annotated[
    int | None, typer.Option(min=0, help="Workers that read and prepare the next images. Default: by the data set.")
]


def as_command(
    command: Callable[..., Any], reads: bool = False, workers: bool = False, parts: bool = False
) -> Callable[..., Any]:
    """The function as the command line takes it: its docstring has the help of each argument and option.

    One that `reads` data gets --data-dir (with `workers` --data-workers), which hold for its process and all it starts.
    One that takes `parts`, as `module:Class`, has the current folder as the last place where modules are found.
    """
    text, told = _read_help(command)
    own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [_with_help(one, *told[one.name]) if one.name in told else one for one in own]
    for name, kind, wanted in (("data_dir", DataDir, reads), ("data_workers", DataWorkers, workers)):
        if wanted:
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind))

    @wraps(command)
    def called(**given: Any) -> Any:
        from unittest.mock import patch

        if parts and (here := str(Path.cwd())) not in sys.path:
            sys.path.append(here)
        folder, ahead = given.pop("data_dir", None), given.pop("data_workers", None)
        values = {DATA_HOME: folder and folder.expanduser().resolve(), DATA_WORKERS: ahead}
        with patch.dict(os.environ, {name: str(value) for name, value in values.items() if value is not None}):
            return command(**given)

    called.__doc__ = text
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _read_help(command: Callable[..., Any]) -> tuple[str, dict[str, tuple[Callable[..., Any], str]]]:
    """What a docstring says first; and of each name under its headings what makes it a parameter, and its help."""
    text, *parts = re.split(rf"^({'|'.join(KINDS)}):\n", inspect.getdoc(command) or "", flags=re.MULTILINE)
    return text, {
        name: (KINDS[kind], " ".join(help.split()))
        for kind, lines in zip(parts[::2], parts[1::2], strict=True)
        for name, help in ENTRY.findall(lines)
    }


def _with_help(parameter: Parameter, make: Callable[..., Any], help: str) -> Parameter:
    """A switch that is off has no second name to switch it off."""
    flags = [f"--{parameter.name.replace('_', '-')}"] if parameter.default is False else []
    known = get_args(parameter.annotation) if hasattr(parameter.annotation, "__metadata__") else ()
    base, info = known or (parameter.annotation, make(*flags))
    info.help = help
    return parameter.replace(annotation=Annotated[base, info])


AsJson = Annotated[bool, typer.Option("--json", help='Print JSON, for other programs; an error is {"error": ...}.')]


def show_answer(answer: Any, as_json: bool, text: str | None = None) -> None:
    """On the standard output: one JSON document, or the text, which is what the answer says of itself if not given."""
    if as_json:
        print(json.dumps(to_plain(answer), indent=2, allow_nan=False))
    else:
        print(str(answer) if text is None else text)


def to_plain(value: Any) -> Any:
    """A value in JSON's types: objects as their fields, and as text what has no such form."""
    from pydantic_core import to_jsonable_python

    from gotta.json_yaml import plain

    return plain(to_jsonable_python(value, fallback=lambda one: one.tolist() if hasattr(one, "tolist") else str(one)))


def finished(folder: Path) -> "list[Run]":
    """Its readable runs, at least one; damaged ones are named on standard error."""
    from gotta.experiment.sweep.bucket import name_of
    from gotta.experiment.sweep.kept import existing_runs
    from gotta.report.stored_run import read_runs

    runs, damaged = read_runs(existing_runs(folder))
    name = name_of(folder)
    for id, reason in damaged:
        print(f"left out: run {id} in {name} is damaged: {reason}", file=sys.stderr)
    if not runs:
        raise GottaError(f"no finished runs in '{name}'. Expected a folder of 'gotta bench', such as runs/mini.")
    return runs
