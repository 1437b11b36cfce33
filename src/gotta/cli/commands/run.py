"""`gotta run`: one run, from a spec file and dotted settings."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from gotta.errors import GottaError


def run(
    settings: Annotated[
        list[str] | None, typer.Argument(help="A YAML spec file first, if any; then settings as section.name=value.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where runs are kept.")] = Path("runs/single"),
    threads: Annotated[int, typer.Option(help="Torch threads.")] = 1,
    device: Annotated[str, typer.Option(help="Where the network runs: cpu, cuda, cuda:1, mps.")] = "cpu",
    show: Annotated[bool, typer.Option("--show", help="Only print the complete spec.")] = False,
    journal: Annotated[
        Path | None, typer.Option(help="Run anew and write every decision of the memory to this .npz file.")
    ] = None,
    record: Annotated[
        bool,
        typer.Option("--record", help="Run anew and keep what the memory held, with its images, for `gotta report`."),
    ] = False,
    log: Annotated[
        list[str] | None,
        typer.Option(help="Log the run to tensorboard, wandb or mlflow, as name or name:where.", show_default=False),
    ] = None,
) -> None:
    """Run one cell and print its summary. What is not given keeps its default.

    Examples:

    - `gotta run method.name=norm memory.name=fps memory.capacity=32`

    - `gotta run spec.yaml seed=3 stream.gamma=0.01 method.lr=1e-4` : `gotta show RUN` prints the spec file of a run

    - `gotta run memory.name=fifo memory.capacity=32 --journal fifo.npz` : then `gotta replay fifo.npz`

    - `gotta run memory.name=fps memory.capacity=32 --record` : then open the run in `gotta report runs/single`

    - `gotta run runs/mini/runs/ID/spec.json --record --out runs/mini` : record a run of a sweep afterwards
    """
    os.environ["OMP_NUM_THREADS"] = str(threads)
    from gotta.cli.commands.bench import check_device, conclude, warn_of_no_effect
    from gotta.cli.plan import tell_damaged, tell_earlier
    from gotta.cli.progress import follow
    from gotta.cli.recording import record_run
    from gotta.cli.terminal import Console
    from gotta.experiment.recipe.changed_inputs import check_same_inputs
    from gotta.experiment.recipe.missing import missing
    from gotta.experiment.spec.outside import mistakes, permit
    from gotta.experiment.spec.run_spec import RunSpec
    from gotta.experiment.spec.text import dump
    from gotta.experiment.sweep.loggers import Log
    from gotta.experiment.sweep.store import Store
    from gotta.experiment.sweep.sweep import sweep
    from gotta.files import check_writable

    permit(parse([setting for setting in settings or [] if "=" in setting]))  # what a file names is not to be imported
    spec = RunSpec.of(parse(settings or []))
    check_device(device)
    console = Console()
    if show:
        print(dump(spec), end="")
        return
    if journal is not None:
        from gotta.experiment.run.run import run as run_once

        check_writable(journal)
        run_once(spec, journal=journal, device=device)
        console.print(f"Journal: {journal}", highlight=False, soft_wrap=True)
        return
    if lacking := mistakes([spec.model_dump()]) + missing([spec]):
        raise GottaError("\n".join(lacking))
    warn_of_no_effect(console, [spec])
    store = Store(out, writable=True)
    check_same_inputs([spec], store)
    tell_damaged(console, [] if store.has(spec.id) else [spec], store)
    tell_earlier(console, store)
    logged = Log(log or [], store, [spec])
    with follow(console, {spec.id: spec.label}) as listen:
        listen = logged.listening(listen)
        if record:
            failures = record_run(spec, store, listen, device)
        else:
            failures = sweep([spec], store, 1, threads, listen, device)
    if failures:
        raise GottaError(failures[0].message)
    conclude(console, store, [spec])
    logged.complain()


def parse(settings: list[str]) -> dict[str, Any]:
    """`spec.yaml method.name=norm` as nested sections."""
    from gotta.experiment.spec.run_spec import short
    from gotta.experiment.spec.text import dotted, merged, read

    if not settings or "=" in settings[0]:
        return dotted(settings)
    path = Path(settings[0])
    if not path.is_file():
        raise GottaError(f"'{path}' is neither a spec file nor a setting. Expected section.name=value.")
    given = read(path) or {}
    if not isinstance(given, dict):
        raise GottaError(f"'{path}' is no spec: expected sections and settings, got {type(given).__name__}.")
    return merged(short(given), short(dotted(settings[1:])))
