"""`gotta bench`: a recipe from nothing to its table."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gotta.errors import GottaError

if TYPE_CHECKING:
    from gotta.cli.terminal import Console
    from gotta.experiment.spec.run_spec import RunSpec
    from gotta.experiment.sweep.store import Store


def bench(
    recipe: Annotated[str, typer.Argument(help="A recipe by name (gotta ls recipes) or a YAML file.")] = "mini",
    settings: Annotated[
        list[str] | None, typer.Argument(help="Settings for all cells, as section.name=value.", show_default=False)
    ] = None,
    also: Annotated[
        list[str] | None, typer.Option("--set", "-s", help="The same as an option.", show_default=False)
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A smaller stream and one seed, for a first look.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where runs are kept. Default: runs/RECIPE.")] = None,
    memory: Annotated[
        str, typer.Option(help="These memories instead of the recipe's: names, wildcards or module:Class, by comma.")
    ] = "",
    method: Annotated[str, typer.Option(help="Only these methods of the recipe, by comma.")] = "",
    data: Annotated[str, typer.Option(help="This data set instead of the recipe's (gotta ls datasets).")] = "",
    model: Annotated[str, typer.Option(help="This network instead of the recipe's (gotta ls models).")] = "",
    seeds: Annotated[str, typer.Option(help="These seeds instead of the recipe's, by comma.")] = "",
    engine: Annotated[
        str, typer.Option(help="Where cells run: local (processes here), ray, slurm. See docs/sweeps.md.")
    ] = "local",
    jobs: Annotated[
        int, typer.Option(help="Cells at a time. Default: one per core here, what fits on ray and slurm.")
    ] = 0,
    threads: Annotated[int, typer.Option(help="Torch threads per cell.")] = 1,
    device: Annotated[str, typer.Option(help="Where the networks run: cpu, cuda, cuda:1, mps.")] = "cpu",
    address: Annotated[str, typer.Option(help="With ray: an existing cluster, auto or host:port.")] = "",
    gpus: Annotated[float, typer.Option(help="With ray and slurm: GPUs per cell; ray takes fractions.")] = 0.0,
    slurm: Annotated[
        str, typer.Option(help="With slurm: options of sbatch by comma, partition=gpu,account=me; minutes=240.")
    ] = "",
    snapshot_every: Annotated[
        float, typer.Option(help="Seconds between two snapshots of a running cell; inf for none.")
    ] = 60.0,
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Keep what the memories of the first seed's runs held, with images, for the report."
        ),
    ] = False,
    log: Annotated[
        list[str] | None,
        typer.Option(help="Log runs to tensorboard, wandb or mlflow, as name or name:where.", show_default=False),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run, and how long.")] = False,
) -> None:
    """Run a recipe and print its table. Finished runs are kept and reused.

    Examples:

    - `gotta bench` : the default benchmark, about four minutes on two cores

    - `gotta bench --quick` : the same in under a minute

    - `gotta bench teaser` : what each memory holds of a stream full of copies, as a picture

    - `gotta bench --quick --memory fps,fifo,my_policy:Mine` : a policy of your own beside others

    - `gotta bench table1 --dry-run` : a table of the paper; what is missing for it, how many runs, how long

    - `gotta bench table1 --data cifar10-mini --model resnet20 regime.name=fixed method.lr=1e-4`

    - `gotta bench --quick --record` : then a run in the report shows the images in its memory, and why they are there

    - `gotta bench --engine ray --address auto --gpus 0.25 --device cuda` : four cells per GPU of a Ray cluster
    """
    from gotta.experiment.sweep import forking

    if jobs < 0 or threads < 1 or not snapshot_every > 0:
        raise GottaError(
            f"jobs={jobs}, threads={threads}, snapshot_every={snapshot_every}: expected jobs >= 0 (0 = one per core), "
            "threads >= 1 and snapshot_every > 0."
        )
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if engine == "local" and (jobs or os.cpu_count() or 1) > 1 and not dry_run and recipe != "teaser":
        forking.begin(threads)
    from gotta.cli.engine import make_engine
    from gotta.cli.plan import chosen, told
    from gotta.cli.progress import follow
    from gotta.cli.recording import tell_recording, unrecorded
    from gotta.cli.terminal import Console
    from gotta.experiment.recipe.labels import labels
    from gotta.experiment.recipe.recipe import load_recipe
    from gotta.experiment.spec.outside import named
    from gotta.experiment.sweep.loggers import Log
    from gotta.experiment.sweep.store import Store
    from gotta.experiment.sweep.sweep import sweep

    console = Console()
    if "=" in recipe:
        recipe, settings = "mini", [recipe, *(settings or [])]
    if recipe == "teaser":
        if record:
            raise GottaError("--record: the teaser is one picture of all memories and has no runs to record.")
        if settings or also:
            raise GottaError("the teaser has no runs to change settings of. Its own are in recipes/teaser.yaml.")
        teaser(console, out or Path("runs/teaser"), memory, quick, data, dry_run, *_numbers(seeds)[:1])
        return
    where = make_engine(engine, jobs, address, gpus, slurm)
    if engine == "local":
        check_device(device)
    plan = load_recipe(recipe)
    kept = plan.record(Path(recipe).stem)
    over = chosen([*(settings or []), *(also or [])], data, model)
    specs = plan.runs(quick, _names(memory), _numbers(seeds), _names(method), over)
    root = out or Path("runs") / (Path(recipe).stem + ("-quick" if quick else ""))
    store = Store(root, writable=not dry_run)
    recorded = unrecorded(specs, store) if record else frozenset()
    todo = [spec for spec in specs if spec.id in recorded or not store.has(spec.id)]
    workers = min(jobs or os.cpu_count() or 1, max(1, len(todo)))
    told(console, plan, specs, todo, store, workers, device, dry_run, "" if engine == "local" else f"on {engine}")
    if record:
        tell_recording(console, specs, recorded, store)
    warn_of_no_effect(console, [spec for spec in todo if not dry_run or not named(spec.model_dump())])
    if dry_run:
        return
    try:
        logged = Log(log or [], store, specs)
        with follow(console, labels(todo)) as listen:
            heard = logged.listening(listen)
            failures = sweep(todo, store, jobs, threads, heard, device, where, snapshot_every, recorded, kept)
    except KeyboardInterrupt:
        finished = sum(store.has(spec.id) for spec in specs)
        console.print(f"\nStopped. {finished} of {len(specs)} runs are finished and kept in {root}.", highlight=False)
        console.print("The same command continues where it was.")
        raise typer.Exit(130) from None
    unwritten = ""
    try:
        conclude(console, store, specs)
    except GottaError as error:  # a disk that is too full for a report has failed runs to tell of as well
        if not failures:
            raise
        unwritten = f"\nThere is no report: {error}"
    if failures:
        names = labels(specs)
        lines = "\n".join(f"  - {names[failure.id]}: {failure.message}" for failure in failures)
        raise GottaError(f"{len(failures)} runs failed; the others are kept:\n{lines}{unwritten}")
    logged.complain()


def conclude(console: "Console", store: "Store", specs: "list[RunSpec]") -> None:
    """Print the table of these runs and say where everything is."""
    from gotta.cli.progress import show_table
    from gotta.report.results import read_results
    from gotta.report.write import write_report

    results = read_results(store)
    asked = results.only({spec.id for spec in specs})
    if not asked.runs:
        return
    for part in asked.parts:
        console.print()
        if len(asked.parts) > 1:
            console.rule(part.panel.title, align="left")
        show_table(console, part.table())
        if len(asked.runs) > 1:
            console.print(str(part.answer), highlight=False, markup=False)
    path = write_report(results)
    console.print(f"Runs: {store.root}   Report: {path}", highlight=False, soft_wrap=True)


def warn_of_no_effect(console: "Console", specs: "list[RunSpec]") -> None:
    """Say before the run which cells will say nothing of their own."""
    from gotta.experiment.recipe.no_effect import without_effect

    for name, reason in without_effect(specs).items():
        console.print(f"No effect: {name}: {reason} The cell is marked.", highlight=False, markup=False)


def check_device(device: str) -> None:
    """Refuse a device that is not there before anything runs on it."""
    import torch

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise GottaError(f"device '{device}' cannot be used: {reason.rstrip('.')}. Use --device cpu.") from None


def teaser(console: "Console", root: Path, memory: str, quick: bool, data: str, dry_run: bool, seed: int = 0) -> None:
    """The paper's first figure, which is one picture and not a table of runs."""
    from gotta.cli.progress import show_table
    from gotta.experiment.recipe.recipe import load_picture
    from gotta.experiment.teaser import run_teaser, shown_policies
    from gotta.files import check_writable
    from gotta.memory import policies
    from gotta.report.teaser import draw, tables

    names = policies.match(memory) if memory else shown_policies()
    picture = load_picture("teaser")
    console.print(f"[bold]{picture.title}[/bold] (the paper's {picture.paper})", highlight=False)
    console.print(picture.note, style="dim", highlight=False, markup=False)
    console.print(f"{len(names)} memories, one picture, seconds: {', '.join(names)}", highlight=False)
    if dry_run:
        return
    check_writable(root / "teaser.png")
    with console.status("") as status:

        def told(done: int, total: int, policy: str) -> None:
            status.update(f"{done} of {total} memories: {policy}")

        result = run_teaser(root, names, quick, seed, told, **({"data": data} if data else {}))
    show_table(console, tables(result))
    console.print(f"Picture: {draw(result, root / 'teaser.png')}", highlight=False, soft_wrap=True)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part]
    except ValueError:
        raise GottaError(f"seeds='{text}' are no whole numbers. Expected something like 0,1,2.") from None
