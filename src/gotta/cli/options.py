"""Commands as functions: the help of an option is a line of the docstring; and options that several commands share."""

import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from gotta.errors import GottaError

if TYPE_CHECKING:
    from gotta.experiment.sweep.kept import Kept
    from gotta.experiment.sweep.store import Store
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


def described(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the help that its docstring has for each argument and option, under these headings."""
    text, *parts = re.split(rf"^({'|'.join(KINDS)}):\n", inspect.getdoc(command) or "", flags=re.MULTILINE)
    told = {
        name: (KINDS[kind], " ".join(help.split()))
        for kind, lines in zip(parts[::2], parts[1::2], strict=True)
        for name, help in ENTRY.findall(lines)
    }

    @wraps(command)
    def with_help(**given: Any) -> Any:
        return command(**given)

    known = inspect.signature(command, eval_str=True).parameters.values()
    with_help.__doc__ = text
    return _taking(with_help, [_with_help(one, *told[one.name]) if one.name in told else one for one in known])


def _with_help(parameter: Parameter, make: Callable[..., Any], help: str) -> Parameter:
    """A switch that is off has no second name to switch it off."""
    flags = [f"--{parameter.name.replace('_', '-')}"] if parameter.default is False else []
    known = get_args(parameter.annotation) if hasattr(parameter.annotation, "__metadata__") else ()
    base, info = known or (parameter.annotation, make(*flags))
    info.help = help
    return parameter.replace(annotation=Annotated[base, info])


def _taking(command: Callable[..., Any], parameters: Iterable[Parameter]) -> Callable[..., Any]:
    """The command as one that takes these parameters, which is what the command line is made from."""
    signature = inspect.Signature(list(parameters))
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
    return command


def reads_data(command: Callable[..., Any], workers: bool = False) -> Callable[..., Any]:
    """The command with --data-dir (and --data-workers), which hold for its process and all it starts."""
    options: dict[str, Any] = {"data_dir": DataDir} | ({"data_workers": DataWorkers} if workers else {})

    @wraps(command)
    def with_options(**given: Any) -> Any:
        data_dir, data_workers = given.pop("data_dir"), given.pop("data_workers", None)
        values = {
            DATA_HOME: None if data_dir is None else str(data_dir.expanduser().resolve()),
            DATA_WORKERS: None if data_workers is None else str(data_workers),
        }
        with _environment(values):
            return command(**given)

    added = [Parameter(n, Parameter.KEYWORD_ONLY, default=None, annotation=options[n]) for n in options]
    return _taking(with_options, [*inspect.signature(command).parameters.values(), *added])


def imports_from_here(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the current folder as the last place where modules are found: it takes `module:Class`."""

    @wraps(command)
    def with_folder(**given: Any) -> Any:
        folder = str(Path.cwd())
        if folder not in sys.path:
            sys.path.append(folder)
        return command(**given)

    return with_folder


@contextmanager
def _environment(values: Mapping[str, str | None]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update({name: value for name, value in values.items() if value is not None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


AsJson = Annotated[bool, typer.Option("--json", help='Print JSON, for other programs; an error is {"error": ...}.')]


def print_json(answer: Any) -> None:
    """One JSON document on the standard output."""
    print(json.dumps(to_plain(answer), indent=2, allow_nan=False))


def to_plain(value: Any) -> Any:
    """A value in JSON's types: objects as their fields, and as text what has no such form."""
    from pydantic_core import to_jsonable_python

    from gotta.json_yaml import plain

    return plain(to_jsonable_python(value, fallback=lambda one: one.tolist() if hasattr(one, "tolist") else str(one)))


def existing(folder: Path) -> "Store | Kept":
    """The store in a folder, or the kept lines, that must be there."""
    from gotta.experiment.sweep.bucket import is_folder
    from gotta.experiment.sweep.kept import open_runs

    if not folder.exists() and is_folder(folder):
        raise GottaError(
            f"there is no folder '{folder}'. Expected one that 'gotta bench' has written, such as runs/mini."
        )
    return open_runs(folder)


def finished(folder: Path) -> "list[Run]":
    """Its readable runs, at least one; damaged ones are named on standard error."""
    from gotta.experiment.sweep.bucket import name_of
    from gotta.report.stored_run import read_runs

    runs, damaged = read_runs(existing(folder))
    name = name_of(folder)
    for id, reason in damaged:
        print(f"left out: run {id} in {name} is damaged: {reason}", file=sys.stderr)
    if not runs:
        raise GottaError(f"no finished runs in '{name}'. Expected a folder of 'gotta bench', such as runs/mini.")
    return runs
