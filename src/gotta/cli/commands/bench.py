"""`gotta bench`: a recipe from nothing to its table."""

import os
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gotta.cli.terminal import Console
from gotta.errors import GottaError, messages, one_error

if TYPE_CHECKING:
    from gotta.experiment.spec.run_spec import RunSpec
    from gotta.workflow import Plan, Result


def bench(
    recipe: Annotated[str, typer.Argument(autocompletion=lambda: recipe_names())] = "mini",
    settings: list[str] | None = None,
    quick: bool = False,
    study: bool = False,
    out: Path | None = None,
    start_from: Annotated[Path | None, typer.Option("--from")] = None,
    memory: str = "",
    method: str = "",
    data: str = "",
    model: str = "",
    seeds: str = "",
    engine: str = "local",
    jobs: int = 0,
    threads: int = 1,
    device: str = "cpu",
    address: str = "",
    gpus: float = 0.0,
    resources: str = "",
    pack: int = 1,
    slurm: str = "",
    snapshot_every: float = 60.0,
    record: bool = False,
    log: list[str] | None = None,
    dry_run: bool = False,
    details: bool = False,
    ids: bool = False,
) -> None:
    """Run a recipe and print its table. Finished runs are kept and reused. In Python: `gotta.bench(...)`.

    Examples:

    - `gotta bench` : the default benchmark, eight minutes on two cores

    - `gotta bench --quick` : the same on fewer images, in a minute

    - `gotta bench --quick --memory fps,fifo,my_policy:Mine` : a policy of your own beside others

    - `gotta bench --quick --model my_nets:build` : a network of your own

    - `gotta bench table1 --dry-run` : a table of the paper; what is missing for it, how many runs, how long

    - `gotta bench table1 --from results/table1.jsonl` : only what is not kept there

    - `gotta bench table1 --data cifar10-mini --model resnet20 regime.name=fixed method.lr=1e-4`

    - `gotta bench --quick --record` : then a run in the report shows the images in its memory, and why they are there

    - `gotta bench --engine ray --address auto --gpus 0.25 --device cuda` : four cells per GPU of a Ray cluster

    Arguments:
        recipe: A recipe by name (gotta ls recipes) or a YAML file.
        settings: Settings for all cells, as section.name=value.

    Options:
        quick: A smaller stream and one seed, for a first look.
        study: All 10,000 images of five corruptions (CIFAR-10-C) with resnet20.
        out: Where runs are kept. Default: runs/RECIPE.
        start_from: Runs that count as finished: lines of gotta keep, or another folder of runs.
        memory: These memories in place of every memory of the recipe: names, wildcards or module:Class, by
            comma.
        method: Only these methods, by comma; one that the recipe does not have takes the place of each that it
            has.
        data: This data set instead of the recipe's (gotta ls datasets).
        model: This network instead of the recipe's: a name (gotta ls models) or module:function.
        seeds: These seeds instead of the recipe's, by comma.
        engine: Where cells run: local (processes here), ray, slurm. See docs/sweeps.md.
        jobs: Cells at a time. Default: one per core here, what fits on ray and slurm.
        threads: Torch threads per cell.
        device: Where the networks run: cpu, cuda, cuda:1, mps.
        address: With ray: an existing cluster, auto or host:port. Default: RAY_ADDRESS.
        gpus: GPUs per cell with ray (fractions too) and slurm; with local GPUs in all, one per process.
        resources: With ray: what else a cell needs, by comma; memory in GB: memory=16,highmem=1.
        pack: With slurm: cells per job, one after the other.
        slurm: With slurm: options of sbatch by comma, partition=gpu,account=me; minutes=240.
        snapshot_every: Seconds between two snapshots of a running cell; inf for none.
        record: Keep what the memories of the first seed's runs held, with images, for the report.
        log: Log runs to tensorboard, wandb or mlflow, as name or name:where.
        dry_run: Only say what is missing, what would be run, and how long.
        details: Print settings, notes and what is known of each method, too.
        ids: With --dry-run: name every run with its id.
    """
    from gotta.experiment.sweep import forking

    os.environ["OMP_NUM_THREADS"] = str(threads)
    if engine == "local" and (jobs or os.cpu_count() or 1) > 1 and threads > 0 and not dry_run:
        forking.begin(threads)  # at once, beside the imports below
    from gotta.cli.progress import follow
    from gotta.experiment.sweep.engines import engine as make_engine
    from gotta.experiment.sweep.engines.local import choose_gpus
    from gotta.experiment.sweep.engines.ray import check_gpus
    from gotta.experiment.sweep.loggers import check_logger
    from gotta.workflow import plan
    from gotta.workflow.bench_plan import check_device, check_numbers

    console = Console()
    if "=" in recipe:
        recipe, settings = "mini", [recipe, *(settings or [])]
    check_numbers(jobs, threads, snapshot_every)
    check_device(device, here=False)
    for text in log or []:
        check_logger(text)
    where = make_engine(engine, jobs, **engine_options(address, gpus, resources, pack, slurm))
    if engine == "local":
        usable = choose_gpus(gpus, device)
        jobs = jobs or len(usable)
    elif engine == "ray":
        check_gpus(gpus, device)
    with one_error("seeds must be whole numbers such as 0,1,2"):
        numbers = [int(part) for part in seeds.split(",") if part]
    planned = plan(
        recipe,
        quick=quick,
        study=study,
        memory=memory,
        method=method,
        data=data,
        model=model,
        seeds=numbers,
        settings=settings or [],
        record=record,
        out=out,
        start_from=start_from,
    )
    if dry_run:
        return show_plan(console, planned, jobs, device, ids, engine)
    planned.check(device if engine == "local" else "cpu")
    announce(console, planned, jobs, device, engine)
    try:
        with follow(console, {spec.id: planned.labels[spec.id] for spec in planned.todo}) as listen:
            result = planned.run(jobs, threads, device, where, snapshot_every, log or [], listen)
    except KeyboardInterrupt:
        finished = sum(planned.store.has(spec.id) for spec in planned.specs)
        told = f"\nStopped. {finished} of {len(planned.specs)} runs are finished and kept in {planned.store.address}."
        console.print(told)
        console.print("The same command continues where it was.")
        raise typer.Exit(130) from None
    conclude(console, result, details)


def recipe_names() -> list[str]:
    """For the shell's completion: found by their files, because a key press must not wait for imports."""
    return sorted(path.stem for path in (Path(__file__).parents[2] / "recipes").rglob("*.yaml"))


def show_plan(console: Console, plan: "Plan", jobs: int, device: str, ids: bool, engine: str) -> None:
    """What `--dry-run` says. Exit code 1 if something is missing."""
    named = [f"  {spec.id}  {plan.labels[spec.id]}" for spec in plan.todo] if ids else []
    console.print("\n".join([str(plan), *plan.notices(everything=False), *named]), soft_wrap=True)
    if plan.missing:
        from gotta.experiment.recipe.estimate import estimate_unseen

        time = estimate_unseen(plan.looked_at, plan.processes(jobs), device) if engine == "local" else None
        if time is not None:
            console.print(f"Once everything is here: about {time.told()} (timed with random weights)")
        raise typer.Exit(1)
    if plan.looked_at:
        console.print(told_cost(plan.looked_at, plan.processes(jobs), device, engine))
    if unseen := len(plan.todo) - len(plan.looked_at):
        console.print(f"Not looked at: {unseen} runs with parts of your own, which are imported when they start.")


def announce(console: Console, plan: "Plan", jobs: int, device: str, engine: str) -> None:
    """Say what will be run, and how long it takes."""
    console.print(plan.told_title(), style="bold")
    if plan.recipe is not None and plan.recipe.note:
        console.print(plan.recipe.note, style="dim")
    for line in plan.notices():
        console.print(line, soft_wrap=True)
    count = plan.processes(jobs)
    where = f"in {count} process{'' if count == 1 else 'es'}" if engine == "local" else f"on {engine}"
    console.print(f"{plan.told_counts()} {where}")
    if plan.todo:
        console.print(told_cost(plan.todo, plan.processes(jobs), device, engine))


def told_cost(specs: "list[RunSpec]", processes: int, device: str, engine: str) -> str:
    """How long it takes here; where the device is not here to be timed, how much there is to compute."""
    from gotta.experiment.recipe.estimate import count, estimate
    from gotta.workflow.bench_plan import check_device

    here = engine == "local" and not messages([lambda: check_device(device)])
    return str(estimate(specs, processes, device) if here else count(specs))


def conclude(console: Console, result: "Result", details: bool = False) -> None:
    """Print the tables and what they show, say where everything is, and what went wrong."""
    from gotta.cli.progress import show_chapters

    unwritten = ""
    try:
        if result.runs:
            show_chapters(console, result.chapters, details=details)
            console.print(f"Runs: {result.store.address}   Report: {result.report()}", soft_wrap=True)
    except GottaError as error:  # a disk that is too full for a report has failed runs to tell of as well
        if not result.failures:
            raise
        unwritten = f"\nThere is no report: {error}"
    if result.failures:
        raise GottaError(f"{result.told_failures()}{unwritten}")
    if result.log_problems:
        told = "; ".join(f"{name}: {problem}" for name, problem in result.log_problems.items())
        raise GottaError(f"the runs are finished and kept, but not all of them could be logged: {told}")


def engine_options(address: str, gpus: float, resources: str, pack: int, slurm: str) -> dict[str, Any]:
    """What was given of them, by the names that engines know them by."""
    if not 0 <= gpus < inf or (gpus > 1 and gpus % 1) or pack < 1:
        expected = "expected a number of GPUs, or a share of one such as 0.25, and at least one cell per job"
        raise GottaError(f"gpus={gpus:g}, pack={pack}: {expected}.")
    with one_error(f"--resources {resources}: expected name=amount by comma, memory in GB: memory=16,highmem=1"):
        amounts = {name: float(value) for name, value in _pairs(resources).items()}
        if not all(name and 0 < amount < inf for name, amount in amounts.items()):
            raise ValueError(resources)
    options = _pairs(slurm)
    minutes = options.get("minutes", "1")
    if "" in options or not (minutes.isascii() and minutes.isdigit() and int(minutes[:9])):
        raise GottaError(f"--slurm {slurm}: expected name=value by comma, minutes above 0: partition=gpu,minutes=60.")
    given = {"address": address, "gpus": gpus, "resources": amounts, "options": options}
    return {name: value for name, value in given.items() if value} | ({"pack": pack} if pack > 1 else {})


def _pairs(text: str) -> dict[str, str]:
    """`a=1,b=2` by name; a part without a value has no name."""
    parts = [part.partition("=") for part in text.split(",") if part]
    return {name if equals else "": value for name, equals, value in parts}
