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
) -> None:
    """Run one cell and print its summary. What is not given keeps its default.

    Examples:

    - `gotta run method.name=norm memory.name=fps memory.capacity=32`

    - `gotta run spec.yaml seed=3 stream.gamma=0.01`

    - `gotta run memory.name=fifo memory.capacity=32 --journal fifo.npz` : then `gotta replay fifo.npz`

    - `gotta run memory.name=fps memory.capacity=32 --record` : then open the run in `gotta report runs/single`

    - `gotta run runs/mini/runs/ID/spec.json --record --out runs/mini` : record a run of a sweep afterwards
    """
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import yaml
    from rich.console import Console

    from gotta.cli.bench import check_device, conclude
    from gotta.cli.progress import follow
    from gotta.cli.recording import record_run
    from gotta.experiment.spec import RunSpec
    from gotta.experiment.store import Store
    from gotta.experiment.sweep import sweep
    from gotta.files import check_writable

    spec = RunSpec.of(parse(settings or []))
    check_device(device)
    console = Console()
    if show:
        console.print(yaml.safe_dump(spec.model_dump(), sort_keys=False), highlight=False, markup=False)
        return
    if journal is not None:
        from gotta.experiment.run import run as run_once

        check_writable(journal)
        run_once(spec, journal=journal, device=device)
        console.print(f"Journal: {journal}", highlight=False, soft_wrap=True)
        return
    store = Store(out, writable=True)
    with follow(console, {spec.id: spec.label}) as listen:
        if record:
            record_run(spec, store, listen, device)
            failures = []
        else:
            failures = sweep([spec], store, 1, threads, listen, device)
    if failures:
        raise GottaError(failures[0].message)
    conclude(console, store, [spec])


def parse(settings: list[str]) -> dict[str, Any]:
    """`spec.yaml method.name=norm` as nested sections."""
    import yaml

    from gotta.experiment.recipe import merged

    given: dict[str, Any] = {}
    for position, setting in enumerate(settings):
        name, equals, text = setting.partition("=")
        if not equals:
            if position or not Path(setting).is_file():
                raise GottaError(f"'{setting}' is neither a spec file nor a setting. Expected section.name=value.")
            given = yaml.safe_load(Path(setting).read_text()) or {}
            continue
        value = yaml.safe_load(text)
        for part in reversed(name.split(".")):
            value = {part: value}
        given = merged(given, value)
    return given
