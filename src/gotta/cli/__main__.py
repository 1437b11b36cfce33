"""`gotta`: the command. Heavy imports wait until a command needs them, so that --help answers at once."""

import json
import os
import sys
import warnings
from importlib import import_module
from typing import Any

import typer

import gotta
from gotta.cli.options import as_command
from gotta.cli.terminal import guard_output
from gotta.errors import GottaError

COMMANDS = (  # in the order of --help; each is a function of its name in a module of its name
    *("bench", "run", "report", "watch", "status", "compare", "export", "keep", "verify", "leaderboard", "submit"),
    *("ls", "show", "check", "advise", "doctor", "replay", "serve", "train"),
)
GROUPS = {
    "stream": ("Look at streams.", ("show",)),
    "data": ("Fetch, make and show data.", ("download", "show", "make")),
}
READ_DATA = ("bench", "run", "verify", "advise")
READ_AHEAD = ("bench", "run")
TAKE_PARTS = ("bench", "run", "submit", "show", "check", "advise", "doctor", "replay", "serve", "train")  # module:Class
LOOKS: dict[str, Any] = {"no_args_is_help": True, "pretty_exceptions_enable": False, "rich_markup_mode": "markdown"}

app = typer.Typer(
    help="Memory for test-time adaptation: a library and a benchmark.",
    epilog="Start with: gotta bench --quick",
    **LOOKS,
)


def add(to: typer.Typer, module: str, name: str, reads: bool) -> None:
    """A command, which is imported here; what it imports itself waits until it is called."""
    command = getattr(import_module(f"gotta.cli.commands.{module}"), name)
    to.command(name)(as_command(command, reads, name in READ_AHEAD, name in TAKE_PARTS))


for name in COMMANDS:
    add(app, name, name, name in READ_DATA)
for group, (about, names) in GROUPS.items():
    inner = typer.Typer(help=about, callback=lambda: None, **LOOKS)
    for name in names:
        add(inner, group, name, reads=True)
    app.add_typer(inner, name=group)


def _version(value: bool) -> None:
    if value:
        print(f"gotta {gotta.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def main() -> None:
    """Run the command; a mistake of the caller's is one message and exit code 2."""
    # Before torch is imported: two threads beside a busy neighbour are far slower than one.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    warnings.formatwarning = lambda message, *_, **__: f"gotta: {message}\n"  # without our own line of code
    with guard_output():
        try:
            app(prog_name="gotta")
        except GottaError as error:
            print(f"gotta: {error}", file=sys.stderr)
            _tell_as_json(str(error))
            sys.exit(2)
        except SystemExit as end:
            mistake: Any = end.__context__
            if hasattr(mistake, "format_message"):  # typer has printed it: an argument is missing, and the like
                _tell_as_json(mistake.format_message())
            raise


def _tell_as_json(mistake: str) -> None:
    if "--json" in sys.argv:
        print(json.dumps({"error": mistake}))


if __name__ == "__main__":
    main()
