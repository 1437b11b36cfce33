"""`gotta`: the command. Heavy imports wait until a command needs them, so that --help answers at once."""

import os
import sys

import typer

import gotta
from gotta.cli.commands import (
    advise,
    bench,
    check,
    compare,
    doctor,
    export,
    keep,
    leaderboard,
    ls,
    replay,
    report,
    run,
    serve,
    show,
    status,
    stream,
    submit,
    train,
    verify,
    watch,
)
from gotta.cli.data import data
from gotta.cli.options import imports_from_here, reads_data
from gotta.cli.terminal import guard_output
from gotta.errors import GottaError

app = typer.Typer(
    help="Memory for test-time adaptation: a library and a benchmark.",
    epilog="Start with: gotta bench --quick",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("bench")(imports_from_here(reads_data(bench.bench, workers=True)))
app.command("run")(imports_from_here(reads_data(run.run, workers=True)))
app.command("report")(report.report)
app.command("watch")(watch.watch)
app.command("status")(status.status)
app.command("compare")(compare.compare)
app.command("export")(export.export)
app.command("keep")(keep.keep)
app.command("verify")(reads_data(verify.verify))
app.command("leaderboard")(leaderboard.leaderboard)
app.command("submit")(imports_from_here(submit.submit))
app.command("ls")(ls.ls)
app.command("show")(imports_from_here(show.show))
app.command("check")(imports_from_here(check.check))
app.command("advise")(imports_from_here(reads_data(advise.advise)))
app.command("doctor")(imports_from_here(doctor.doctor))
app.command("replay")(imports_from_here(replay.replay))
app.command("serve")(imports_from_here(serve.serve))
app.command("train")(imports_from_here(train.train))
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
