"""What `gotta bench` says before it starts: how many runs, how long, and what is missing."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gotta.errors import GottaError

if TYPE_CHECKING:
    from gotta.cli.terminal import Console
    from gotta.experiment.recipe.recipe import Recipe
    from gotta.experiment.spec.run_spec import RunSpec
    from gotta.experiment.sweep.store import Store


def chosen(settings: Sequence[str], data: str, model: str) -> dict[str, Any]:
    """The sections that settings and options stand for; settings over options."""
    from gotta.experiment.spec.text import dotted, merged

    options: dict[str, Any] = {"data": {"name": data}} if data else {}
    if model:
        options["model"] = {"name": model}
    return merged(options, dotted(settings))


def tell_damaged(console: "Console", todo: "Sequence[RunSpec]", store: "Store") -> None:
    """Name the runs that are to be run again because what the store has of them cannot be read."""
    ids = {spec.id for spec in todo if (store.folder / spec.id).exists()}
    for id, reason in store.damaged() if ids else ():
        if id in ids:
            console.print(f"Damaged: run {id}: {reason}. It is run again.", highlight=False, markup=False)


def tell_earlier(console: "Console", store: "Store") -> None:
    """Say that runs are there which nothing tells to be those asked for."""
    if count := sum(run.is_earlier for run in store.runs()):
        console.print(
            f"{count} runs here are of an earlier format, which does not tell what made them: they stay, reports show "
            "them apart, and none of them counts as finished.",
            highlight=False,
            soft_wrap=True,
        )


def told(
    console: "Console",
    plan: "Recipe",
    specs: "Sequence[RunSpec]",
    todo: "Sequence[RunSpec]",
    store: "Store",
    workers: int,
    device: str,
    cells: bool,
    where: str = "",
) -> None:
    """Say what will be run and where; refuse if something for it is missing. With `cells` every run is named."""
    from gotta.experiment.recipe.changed_inputs import check_same_inputs
    from gotta.experiment.recipe.estimate import estimate
    from gotta.experiment.recipe.labels import labels
    from gotta.experiment.recipe.missing import missing
    from gotta.experiment.spec import outside

    check_same_inputs(specs, store)
    console.print(
        f"[bold]{plan.title}[/bold]" + (f" (the paper's {plan.paper})" if plan.paper else ""), highlight=False
    )
    if plan.note:
        console.print(plan.note, style="dim", highlight=False, markup=False)
    tell_damaged(console, todo, store)
    tell_earlier(console, store)
    done = len(specs) - len(todo)
    where = where or f"in {workers} processes"
    console.print(f"{len(specs)} runs, {done} finished before, {len(todo)} to do {where}", highlight=False)
    if cells:
        for id, label in labels(todo).items():
            console.print(f"  {id}  {label}", highlight=False, markup=False, soft_wrap=True)
    if not todo:
        return
    looked_at = (
        todo if not cells else [spec for spec in todo if not outside.named(spec.model_dump()).keys() - {"memory"}]
    )
    lacking = missing(looked_at) + ([] if cells else outside.mistakes(spec.model_dump() for spec in todo))
    if lacking:
        lines = "\n".join(f"  - {reason}" for reason in lacking)
        way_out = (
            "Name the folder that holds them with GOTTA_DATA; or take bundled ones: --quick, or --data and --model."
        )
        raise GottaError(f"{len(lacking)} things are missing for these runs:\n{lines}\n{way_out}")
    finished = [store.read(spec.id) for spec in specs if store.has(spec.id)]
    if looked_at:
        console.print(f"{estimate(looked_at, workers, finished, device)}", highlight=False)
    if len(looked_at) < len(todo):
        count = len(todo) - len(looked_at)
        console.print(f"Not looked at: {count} runs with parts of your own, which are imported when they start.")
