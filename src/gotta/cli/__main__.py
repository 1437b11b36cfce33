"""`gotta`: the command. Heavy imports wait until a command needs them, so that --help answers at once."""

import os
import sys
from importlib import import_module

import typer

import gotta
from gotta.cli.commands import stream
from gotta.cli.data import data
from gotta.cli.options import imports_from_here, reads_data
from gotta.cli.terminal import guard_output
from gotta.errors import GottaError

COMMANDS = (  # in the order of --help; each is a function of its name in a module of its name
    *("bench", "run", "report", "watch", "status", "compare", "export", "keep", "verify", "leaderboard", "submit"),
    *("ls", "show", "check", "advise", "doctor", "replay", "serve", "train"),
)
READ_DATA = ("bench", "run", "verify", "advise")
READ_AHEAD = ("bench", "run")
TAKE_PARTS = ("bench", "run", "submit", "show", "check", "advise", "doctor", "replay", "serve", "train")  # module:Class

app = typer.Typer(
    help="Memory for test-time adaptation: a library and a benchmark.",
    epilog="Start with: gotta bench --quick",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
for name in COMMANDS:
    command = getattr(import_module(f"gotta.cli.commands.{name}"), name)
    command = reads_data(command, workers=name in READ_AHEAD) if name in READ_DATA else command
    app.command(name)(imports_from_here(command) if name in TAKE_PARTS else command)
for group in (stream.app, data.app):
    for command in group.registered_commands:
        assert command.callback is not None
        command.callback = reads_data(command.callback)
        if command.callback.__name__ == "show":  # data sets may be `module:Class`
            command.callback = imports_from_here(command.callback)
app.add_typer(stream.app, name="stream")
app.add_typer(data.app, name="data")


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
    with guard_output():
        try:
            app(prog_name="gotta")
        except GottaError as error:
            print(f"gotta: {error}", file=sys.stderr)
            sys.exit(2)


if __name__ == "__main__":
    main()
