"""`gotta`: the command. Heavy imports wait until a command needs them, so that --help answers at once."""

import os
import sys
from pathlib import Path

import typer

import gotta
from gotta.cli.commands import (
    bench,
    check,
    diff,
    doctor,
    export,
    ls,
    paper,
    replay,
    report,
    run,
    show,
    status,
    stream,
    train,
    watch,
)
from gotta.cli.data import data
from gotta.cli.options import reads_data
from gotta.cli.terminal import guarded_output
from gotta.errors import GottaError

app = typer.Typer(
    help="Memory for test-time adaptation: a library and a benchmark.",
    epilog="Start with: gotta bench --quick",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("bench")(reads_data(bench.bench, workers=True))
app.command("run")(reads_data(run.run, workers=True))
app.command("report")(report.report)
app.command("watch")(watch.watch)
app.command("status")(status.status)
app.command("diff")(diff.diff)
app.command("export")(export.export)
app.command("paper")(paper.paper)
app.command("ls")(ls.ls)
app.command("show")(show.show)
app.command("check")(check.check)
app.command("doctor")(doctor.doctor)
app.command("replay")(replay.replay)
app.command("train")(train.train)
for group in (stream.app, data.app):
    for command in group.registered_commands:
        assert command.callback is not None
        command.callback = reads_data(command.callback)
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
    sys.path.insert(0, str(Path.cwd()))  # so that a policy of one's own, `module:Class`, is found
    with guarded_output():
        try:
            app()
        except GottaError as error:
            print(f"gotta: {error}", file=sys.stderr)
            sys.exit(2)


if __name__ == "__main__":
    main()
