"""`gotta.plan`, `gotta.bench` and `gotta.run`: what the command line does, as functions."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from gotta.errors import GottaError
from gotta.experiment.recipe.recipe import Recipe, load_recipe, read_recipe
from gotta.experiment.run import EVERY
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.text import merged, read_spec, sections
from gotta.experiment.spec.user_parts import permit
from gotta.experiment.sweep.kept import existing_runs
from gotta.experiment.sweep.store import Store
from gotta.workflow.bench_plan import Listener, Plan

if TYPE_CHECKING:
    from gotta.experiment.sweep.engines import Engine
    from gotta.workflow.result import Result

Names = str | Sequence[str]
Settings = Mapping[str, Any] | Sequence[str]


class Asked(TypedDict, total=False):
    """What to run of a recipe: the arguments of `plan`."""

    quick: bool
    study: bool
    memory: Names
    method: Names
    data: str | Mapping[str, Any] | None
    model: str | Mapping[str, Any] | None
    seeds: Sequence[int]
    settings: Settings
    record: bool
    out: str | Path | None
    start_from: str | Path | None


class FailedRuns(UserWarning):
    """Some runs of a bench failed; the result names them."""


def plan(
    recipe: str | Path | Mapping[str, Any] | Recipe = "mini",
    *,
    quick: bool = False,
    study: bool = False,
    memory: Names = (),
    method: Names = (),
    data: str | Mapping[str, Any] | None = None,
    model: str | Mapping[str, Any] | None = None,
    seeds: Sequence[int] = (),
    settings: Settings = (),
    record: bool = False,
    out: str | Path | None = None,
    start_from: str | Path | None = None,
) -> Plan:
    """What a `recipe` stands for, before anything runs: by name, from a YAML file, as its content, or a `Recipe`.

    `memory` and `method` exchange those of the recipe, `data`, `model` and `seeds` replace its own; `settings` such as
    {"method.lr": 1e-4} stand over everything. `out` is where runs are kept, runs/RECIPE if left open. With `record` the
    runs of the first seed keep what their memory held, for the report. Runs that `start_from` has, a folder of runs or
    lines that `gotta keep` wrote, count as finished. `quick` is a first look; `study` keeps the paper's length (all
    10,000 images of CIFAR-10-C) on five corruptions of different families with the bundled `resnet20`.

    >>> import gotta
    >>> plan = gotta.plan("mini", memory=["fps", "fifo"], method="norm", seeds=[0], out="nowhere")
    >>> {spec.method.name for spec in plan.specs} <= {"norm", "source"}
    True
    """
    found = recipe if isinstance(recipe, Recipe) else _recipe(recipe)
    chosen = {name: _named(value) for name, value in (("data", data), ("model", model)) if value}
    over = merged(chosen, sections(settings))
    variant = _variant(quick, study)
    specs = found.runs(variant, _names(memory), list(seeds), _names(method), over)
    left_out = tuple(found.without_rate(variant, _names(memory), _names(method), over))
    name = _stem(recipe, found)
    root = Path("runs") / "-".join(part for part in (name, variant) if part) if out is None else Path(out)
    first = tuple(spec for spec in specs if record and spec.seed == specs[0].seed)
    start = None if start_from is None else existing_runs(start_from)
    command = f"{name} --{variant}" if variant else name
    return Plan(tuple(specs), Store(root), found, command, first, start, left_out)


def _variant(quick: bool, study: bool) -> str:
    if quick and study:
        raise GottaError("quick and study are two forms of a recipe. Choose one.")
    return "quick" if quick else "study" if study else ""


def bench(
    recipe: str | Path | Mapping[str, Any] | Recipe = "mini",
    *,
    jobs: int = 1,
    threads: int = 1,
    device: str = "cpu",
    engine: "str | Engine" = "local",
    snapshot_every: float = EVERY,
    log: Sequence[str] = (),
    listen: Listener = lambda event: None,
    **asked: Unpack[Asked],
) -> "Result":
    """Run a recipe: `gotta.bench("mini", quick=True, memory=["fps", "fifo"]).table()`.

    What to run is as in `plan`, how to run it as in `Plan.run`. Finished runs are kept and reused.

    `jobs` runs at a time with so many `threads` each, on a `device`, by an `engine`; each is saved every
    `snapshot_every` seconds, logged to the trackers in `log`, and `listen` receives what happens. What else is `asked`
    is as in `plan`.

    >>> import gotta, tempfile
    >>> few = {"stream.per_class": 2, "stream.redraws": 1}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = gotta.bench("mini", quick=True, method="source", memory="none", settings=few, out=folder)
    ...     len(result.failures)
    0
    """
    planned = plan(recipe, **asked)
    result = planned.run(jobs, threads, device, engine, snapshot_every, log, listen)
    if result.failures:
        warnings.warn(result.told_failures(), FailedRuns, stacklevel=2)
    return result


def run(
    spec: RunSpec | str | Path | Settings = (),
    *,
    out: str | Path = "runs/single",
    record: bool = False,
    threads: int = 1,
    device: str = "cpu",
    snapshot_every: float = EVERY,
    log: Sequence[str] = (),
    listen: Listener = lambda event: None,
    **given: Any,
) -> "Result":
    """Run one cell: `gotta.run(method={"name": "tent"}, memory={"name": "fps", "capacity": 32}).table()`.

    `spec` is a `RunSpec`, the path of a spec file, or settings such as {"method.name": "tent"}; `given` are sections
    and stand over it. What is left open keeps its default. The run is kept in `out`, and reused if it is there.

    With `record` it keeps what its memory held. It has so many `threads`, on a `device`; it is saved every
    `snapshot_every` seconds, logged to the trackers in `log`, and `listen` receives what happens.

    >>> import gotta, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = gotta.run({"method.name": "source", "stream.per_class": 2, "stream.domains": ["fog"]}, out=folder)
    ...     len(result.failures)
    0
    """
    planned = plan_run(spec, out=out, record=record, **given)
    result = planned.run(1, threads, device, "local", snapshot_every, log, listen)
    if result.failures:
        raise GottaError(result.failures[0].message)
    return result


def plan_run(
    spec: RunSpec | str | Path | Settings = (), *, out: str | Path = "runs/single", record: bool = False, **given: Any
) -> Plan:
    """A plan of one run."""
    permit(given)
    made = spec if isinstance(spec, RunSpec) and not given else RunSpec.of(merged(_spec(spec), given))
    return Plan((made,), Store(out), to_record=(made,) if record else ())


def _spec(spec: RunSpec | str | Path | Settings) -> dict[str, Any]:
    if isinstance(spec, RunSpec):
        return dict(spec.identity["settings"])
    if isinstance(spec, str | Path):
        return read_spec(spec)  # what a file names is not imported on its word
    named = sections(spec)
    permit(named)
    return named


def _recipe(recipe: str | Path | Mapping[str, Any]) -> Recipe:
    return load_recipe(recipe) if isinstance(recipe, str | Path) else read_recipe(recipe, f"{recipe!r:.60}")


def _stem(recipe: str | Path | Mapping[str, Any] | Recipe, found: Recipe) -> str:
    if isinstance(recipe, str | Path):
        return Path(recipe).stem
    words = "".join(letter if letter.isalnum() else " " for letter in found.title.lower()).split()
    return "-".join(words)[:40].rstrip("-") or "recipe"


def _names(names: Names) -> list[str]:
    parts = names.split(",") if isinstance(names, str) else names
    return [part.strip() for part in parts if part.strip()]


def _named(value: str | Mapping[str, Any]) -> dict[str, Any]:
    return {"name": value} if isinstance(value, str) else dict(value)
