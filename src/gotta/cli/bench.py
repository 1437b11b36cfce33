"""`gotta bench`: a recipe from nothing to its table."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gotta.errors import GottaError

if TYPE_CHECKING:
    from rich.console import Console

    from gotta.experiment.spec import RunSpec
    from gotta.experiment.store import Store


def bench(
    recipe: Annotated[str, typer.Argument(help="A recipe by name (gotta ls recipes) or a YAML file.")] = "mini",
    quick: Annotated[bool, typer.Option("--quick", help="A smaller stream and one seed, for a first look.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where runs are kept. Default: runs/RECIPE.")] = None,
    memory: Annotated[
        str, typer.Option(help="These memories instead of every one: names, wildcards or module:Class, by comma.")
    ] = "",
    data: Annotated[str, typer.Option(help="This data set instead of the recipe's (gotta ls datasets).")] = "",
    data_argument: Annotated[
        list[str] | None, typer.Option(help="An argument of the data set as name=value; may be repeated.")
    ] = None,
    seeds: Annotated[str, typer.Option(help="These seeds instead of the recipe's, by comma.")] = "",
    jobs: Annotated[int, typer.Option(help="Worker processes. Default: one per core.")] = 0,
    threads: Annotated[int, typer.Option(help="Torch threads per process.")] = 1,
    device: Annotated[str, typer.Option(help="Where the networks run: cpu, cuda, cuda:1, mps.")] = "cpu",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run.")] = False,
) -> None:
    """Run a recipe and print its table. Finished runs are kept and reused.

    Examples:

    - `gotta bench` : the default benchmark, about six minutes on two cores

    - `gotta bench --quick` : the same in under a minute

    - `gotta bench teaser` : what each memory holds of a stream full of copies, as a picture

    - `gotta bench --quick --memory fps,fifo,my_policy:Mine` : a policy of your own beside others
    """
    os.environ["OMP_NUM_THREADS"] = str(threads)
    from rich.console import Console

    from gotta.cli.progress import follow
    from gotta.cli.run import parse
    from gotta.experiment.recipe import load_recipe, merged
    from gotta.experiment.store import Store
    from gotta.experiment.sweep import sweep

    console = Console()
    if jobs < 0 or threads < 1:
        raise GottaError(f"jobs={jobs}, threads={threads}: expected jobs >= 0 (0 = one per core) and threads >= 1.")
    if recipe == "teaser":
        teaser(console, out or Path("runs/teaser"), memory, quick, data, *_numbers(seeds)[:1])
        return
    check_device(device)
    plan = load_recipe(recipe)
    changes: dict[str, Any] = {"data": {"name": data, "arguments": {}}} if data else {}
    changes = merged(changes, {"data": {"arguments": parse(data_argument)}} if data_argument else {})
    specs = plan.runs(quick, [name for name in memory.split(",") if name], _numbers(seeds), **changes)
    root = out or Path("runs") / (Path(recipe).stem + ("-quick" if quick else ""))
    store = Store(root, writable=not dry_run)
    todo = [spec for spec in specs if not store.has(spec.id)]
    workers = min(jobs or os.cpu_count() or 1, max(1, len(todo)))
    console.print(f"[bold]{plan.title}[/bold]", highlight=False)
    console.print(
        f"{len(specs)} runs, {len(specs) - len(todo)} finished before, {len(todo)} to do in {workers} processes",
        highlight=False,
    )
    if dry_run:
        for spec in todo:
            console.print(f"  {spec.id}  {spec.label}", highlight=False)
        return
    try:
        with follow(console, {spec.id: spec.label for spec in todo}) as listen:
            failures = sweep(todo, store, workers, threads, listen, device)
    except KeyboardInterrupt:
        finished = sum(store.has(spec.id) for spec in specs)
        console.print(f"\nStopped. {finished} of {len(specs)} runs are finished and kept in {root}.", highlight=False)
        console.print("The same command continues where it was.")
        raise typer.Exit(130) from None
    conclude(console, store, specs)
    if failures:
        labels = {spec.id: spec.label for spec in specs}
        lines = "\n".join(f"  - {labels[failure.id]}: {failure.message}" for failure in failures)
        raise GottaError(f"{len(failures)} runs failed; the others are kept:\n{lines}")


def conclude(console: "Console", store: "Store", specs: "list[RunSpec]") -> None:
    """Print the table of these runs and say where everything is."""
    from gotta.cli.progress import show_table
    from gotta.report.tables import headline, panels, table, write_report

    runs = [store.read(spec.id) for spec in specs if store.has(spec.id)]
    if not runs:
        return
    found = panels(runs)
    for panel in found:
        console.print()
        if len(found) > 1:
            console.rule(panel.title, align="left")
        show_table(console, table(panel.runs))
        console.print(headline(panel.runs), highlight=False, markup=False)
    path = write_report(store.root)
    console.print(f"Runs: {store.root}   Report: {path}", highlight=False, soft_wrap=True)


def check_device(device: str) -> None:
    """Refuse a device that is not there before anything runs on it."""
    import torch

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise GottaError(f"device '{device}' cannot be used: {reason.rstrip('.')}. Use --device cpu.") from None


def teaser(console: "Console", root: Path, memory: str, quick: bool, data: str, seed: int = 0) -> None:
    """The paper's first figure, which is one picture and not a table of runs."""
    from gotta.cli.progress import show_table
    from gotta.experiment.teaser import run_teaser
    from gotta.files import check_writable
    from gotta.memory import policies
    from gotta.report.teaser import draw, tables

    check_writable(root / "teaser.png")
    names = policies.match(memory) if memory else None
    with console.status("") as status:

        def told(done: int, total: int, policy: str) -> None:
            status.update(f"{done} of {total} memories: {policy}")

        result = run_teaser(root, names, quick, seed, told, **({"data": data} if data else {}))
    show_table(console, tables(result))
    console.print(f"Picture: {draw(result, root / 'teaser.png')}", highlight=False, soft_wrap=True)


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part]
    except ValueError:
        raise GottaError(f"seeds='{text}' are no whole numbers. Expected something like 0,1,2.") from None
