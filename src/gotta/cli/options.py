"""Options that several commands share: where data sets are, and who reads images ahead."""

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

# As in gotta.data.home and gotta.streams.ahead, which are not imported for --help.
DATA_HOME = "GOTTA_DATA"
DATA_WORKERS = "GOTTA_DATA_WORKERS"

DataDir = Annotated[
    Path | None,
    typer.Option(help=f"The folder of your data sets. Default: what {DATA_HOME} names, or your own for programs."),
]
DataWorkers = Annotated[
    int | None, typer.Option(min=0, help="Workers that read and prepare the next images. Default: by the data set.")
]


def reads_data(command: Callable[..., Any], workers: bool = False) -> Callable[..., Any]:
    """The command with --data-dir (and --data-workers), which hold for its process and all it starts."""
    if "data_dir" in inspect.signature(command).parameters:
        return command  # it has its own
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

    signature = inspect.signature(command, eval_str=True)
    added = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=options[n]) for n in options]
    with_options.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), *added]
    )
    with_options.__annotations__ = {**command.__annotations__, **options}
    return with_options


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
