"""What would be run: which cells, what is missing for them, how long it takes. Looking at a plan writes nothing.

What only running needs is imported by `run` and `estimate`, so that a plan is there in a second.
"""

import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING

import torch

from gotta.errors import GottaError
from gotta.experiment.recipe.missing import Missing, check_same_inputs, missing
from gotta.experiment.recipe.recipe import Recipe
from gotta.experiment.run import EVERY
from gotta.experiment.spec import user_parts
from gotta.experiment.spec.dotted import flatten, labels, tell_apart
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.kept import Kept, adopt, tell_made_otherwise
from gotta.experiment.sweep.store import Store
from gotta.groups import group
from gotta.safe_text import tell_few, tell_number
from gotta.streams.stream_spec import notes

if TYPE_CHECKING:
    from gotta.experiment.recipe.estimate import Estimate
    from gotta.experiment.sweep.engines import Engine
    from gotta.experiment.sweep.sweep import Event
    from gotta.workflow.result import Result

SHOWN = 8  # values of a setting that are named before they are only counted
NOTHING = "."


@dataclass(frozen=True, repr=False)
class Grid:
    """Runs of one seed by method (columns) and by memory or control (rows), and the settings that vary within."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: dict[tuple[str, str], int]  # (row, column) -> runs of each seed
    varied: dict[str, tuple[str, ...]]  # dotted setting -> its values, where a cell of the grid is several runs

    @classmethod
    def of(cls, specs: Sequence[RunSpec]) -> "Grid":
        """The grid of the first seed; the other seeds have the same cells."""
        first = [spec for spec in specs if spec.seed == specs[0].seed]
        alike = group(first, lambda spec: (row_of(spec), spec.method.name))
        rows, columns = (tuple(dict.fromkeys(names)) for names in zip(*alike, strict=True))
        counts = {place: len(same) for place, same in alike.items()}
        return cls(rows, columns, counts, _list_varied(alike.values()))

    def __str__(self) -> str:
        head = ["runs per seed", *self.columns]
        body = [[row, *(str(self.counts.get((row, c), NOTHING)) for c in self.columns)] for row in self.rows]
        first, *widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
        aligned = [[cells[0].ljust(first), *map(str.rjust, cells[1:], widths)] for cells in (head, *body)]
        lines = ["  ".join(cells).rstrip() for cells in aligned]
        return "\n".join([*lines, *(f"{name}: {tell_few(values, SHOWN)}" for name, values in self.varied.items())])

    __repr__ = __str__


def row_of(spec: RunSpec) -> str:
    """The memory, or the control that stands in its place."""
    return f"control: {spec.control.replace('_', ' ')}" if spec.control else spec.memory.name


def _list_varied(alike: Iterable[Sequence[RunSpec]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for same in alike:
        known = [flatten(spec.model_dump()) for spec in same]
        for name in tell_apart(known):
            values = [settings.get(name) for settings in known]
            found.setdefault(name, {}).update(dict.fromkeys(str(value) for value in values if value is not None))
    return {name: tuple(values) for name, values in found.items()}


LOG = logging.getLogger(__name__)
LEFT_OUT = "Left out, since their best rate is not measured yet (gotta bench statistics)"
NAMED = 4  # cells that a notice names before it only counts them
Listener = Callable[["Event"], object]


@dataclass(frozen=True, repr=False)
class Plan:
    """Runs, and the store that has some of them already. Print it; ask it; `run` it.

    `gotta.plan` makes it: `specs` are the runs, `store` is where they are kept, `recipe` and `name` say what they were
    made from, `to_record` which of them keep what their memory held, `start_from` what counts as finished, and
    `left_out` what the recipe has and the request excludes.

    >>> import gotta
    >>> plan = gotta.plan("mini", quick=True, method="norm", memory="fps", out="nowhere")
    >>> isinstance(plan, gotta.Plan), len(plan.specs) > 0
    (True, True)
    """

    specs: tuple[RunSpec, ...]
    store: Store
    recipe: Recipe | None = None
    name: str = ""  # of the recipe, as `gotta bench` takes it: mini --quick
    to_record: tuple[RunSpec, ...] = ()  # these get a recording of what their memory held
    start_from: Store | Kept | None = None  # runs of these that are asked for count as finished
    left_out: tuple[str, ...] = ()  # cells that ask for a best rate which nobody has measured

    def __post_init__(self) -> None:
        self._check_same_inputs(everything=False)

    @cached_property
    def labels(self) -> dict[str, str]:
        """What to call each run, by its id."""
        return labels(self.specs)

    @cached_property
    def unrecorded(self) -> frozenset[str]:
        """The ids of the runs that are to be recorded and are not yet."""
        from gotta.experiment.run.memory_film import record_path

        return frozenset(spec.id for spec in self.to_record if not record_path(self.store.root, spec.id).exists())

    @cached_property
    def todo(self) -> list[RunSpec]:
        """The runs that the store lacks, or lacks a recording of, when first asked."""
        return [spec for spec in self.specs if spec.id in self.unrecorded or not self._has(spec.id)]

    @cached_property
    def taken_over(self) -> list[str]:
        """The ids of the runs that the store lacks and `start_from` has."""
        asked = [spec.id for spec in self.specs if not self.store.has(spec.id)]
        return [] if self.start_from is None else [id for id in asked if self.start_from.has(id)]

    @cached_property
    def looked_at(self) -> list[RunSpec]:
        """The runs to do that can be looked at without importing code of the caller's: their memory is not asked."""
        return [spec for spec in self.todo if not user_parts.find_user_parts(spec.model_dump()).keys() - {"memory"}]

    @cached_property
    def missing(self) -> list[Missing]:
        """What the runs need and this machine lacks, each with the command that gets it. Nothing is imported for it."""
        return missing(self.looked_at)

    @cached_property
    def grid(self) -> Grid:
        """Runs per seed by method and memory."""
        return Grid.of(self.specs)

    def estimate(self, jobs: int = 1, device: str = "cpu") -> "Estimate":
        """How long it takes, from passes counted and a short timing of the network here."""
        from gotta.experiment.recipe.estimate import estimate

        check_device(device)
        return estimate(self.todo, self.processes(jobs), device)

    def processes(self, jobs: int) -> int:
        """How many cells are computed at a time on this machine; `jobs` 0 is one per core."""
        return min(jobs or os.cpu_count() or 1, max(1, len(self.todo)))

    def notices(self, everything: bool = True) -> list[str]:
        """What to know before it runs: damaged runs, what is recorded, cells left out or with nothing of their own.

        Without `everything` nothing of the caller's is imported for it.
        """
        from gotta.experiment.run.no_effect import without_effect

        known = [spec for spec in self.todo if everything or not user_parts.find_user_parts(spec.model_dump())]
        return [
            *self._damaged(),
            *self._start(),
            *self._recording(),
            *([f"{LEFT_OUT}: {tell_few(self.left_out, NAMED)}."] if self.left_out else []),
            *dict.fromkeys(note for spec in self.todo for note in notes(spec.stream_spec())),
            *(f"No effect: {name}: {reason} The cell is marked." for name, reason in without_effect(known).items()),
        ]

    def check(self, device: str = "cpu") -> None:
        """Complain of what would stop the runs: things that are missing, a device or a folder that cannot be used."""
        check_device(device)
        if wrong := user_parts.find_mistakes(self.todo):
            raise GottaError("\n".join(wrong))
        if lacking := missing(self.todo):
            way_out = "\nData is looked for in the folder of GOTTA_DATA. Bundled: --data cifar10-mini --model resnet20."
            fetched = any(one.command for one in lacking)  # else no download would bring it
            raise GottaError(_told_missing(lacking) + way_out if fetched else "\n".join(map(str, lacking)))
        self._check_same_inputs()
        Store(self.store.root, writable=True)

    def run(
        self,
        jobs: int = 1,
        threads: int = 1,
        device: str = "cpu",
        engine: "str | Engine" = "local",
        snapshot_every: float = EVERY,
        log: Sequence[str] = (),
        listen: Listener = lambda event: None,
    ) -> "Result":
        """Run what is to do and say what came of it. `listen` hears each `Event`: started, moved, finished, failed.

        `jobs` is 1 for runs in this very process, more for processes of their own, 0 for one per core. A run that
        fails is in the result's `failures` and costs no other; an interrupted or repeated plan goes on where it was.
        """
        from gotta.experiment.sweep.engines import engine as make_engine
        from gotta.experiment.sweep.loggers import Log
        from gotta.experiment.sweep.sweep import Sweep, Work
        from gotta.workflow.result import Result

        check_numbers(jobs, threads, snapshot_every)
        where = make_engine(engine, jobs) if isinstance(engine, str) else engine
        if not callable(getattr(where, "run", None)):
            raise GottaError(f"engine {engine!r} cannot run anything. Expected local, ray, slurm, or an Engine.")
        check_device(device, here=False)
        self.check(device if engine == "local" else "cpu")
        if self.start_from is not None:
            adopt(self.start_from, self.taken_over, self.store)
        LOG.info("%s: %s", self.store.root, self.told_counts())
        logged = Log(log, self.store, self.labels)

        def hear(event: "Event") -> None:
            listen(replace(event, label=self.labels[event.id]))

        recipe = None if self.recipe is None else self.recipe.record(self.name)
        root = str(self.store.root.resolve())
        work = Work(root, threads, device, snapshot_every, record=self.unrecorded, recipe=recipe)
        failures = Sweep(self.store, work, where, logged.listening(hear)).run(self.todo)
        named = tuple(replace(failure, label=self.labels[failure.id]) for failure in failures)
        return Result(self.specs, self.store, named, dict(logged.problems))

    def told_title(self) -> str:
        if self.recipe is None:
            return self.specs[0].label
        return self.recipe.title + (f" (the paper's {self.recipe.paper})" if self.recipe.paper else "")

    def told_counts(self) -> str:
        """How many runs, and how many of them are there already."""
        done = len(self.specs) - len(self.todo)
        return f"{len(self.specs)} runs, {done} finished before, {len(self.todo)} to do"

    def told_seeds(self) -> str:
        """A line for each seed."""
        left = Counter(spec.seed for spec in self.todo)
        counts = Counter(spec.seed for spec in self.specs).items()
        return "\n".join(f"seed {seed}: {all} runs, {all - left[seed]} finished before" for seed, all in counts)

    def __str__(self) -> str:
        """What is missing first, then the grid and the counts."""
        parts = [_told_missing(self.missing), self.told_title(), (self.recipe.note or "") if self.recipe else ""]
        return "\n".join(part for part in (*parts, str(self.grid), self.told_seeds(), self.told_counts()) if part)

    __repr__ = __str__  # so that a notebook shows it

    def _has(self, id: str) -> bool:
        return self.store.has(id) or id in self.taken_over

    def _check_same_inputs(self, everything: bool = True) -> None:
        check_same_inputs(self.specs, self.store, everything)
        if self.start_from is not None:
            check_same_inputs(self.specs, self.start_from, everything)

    def _start(self) -> list[str]:
        """What is taken from elsewhere, and what is not although it has the settings of a run here."""
        if self.start_from is None:
            return []
        found = dict(self.start_from.scan())
        damaged = [
            f"Damaged in {self.start_from.root}: {id}: {run}." for id, run in found.items() if isinstance(run, str)
        ]
        count = tell_number(len(self.taken_over), "finished run")
        told = [f"Taken from {self.start_from.root}: {count}."] if self.taken_over else []
        return [*told, *damaged, *tell_made_otherwise(self.todo, found.values())]

    def _damaged(self) -> list[str]:
        again = {spec.id for spec in self.todo}
        return [
            f"Damaged: run {id}: {reason}. It {'is run again' if id in again else 'counts nowhere'}."
            for id, reason in self.store.damaged()
        ]

    def _recording(self) -> list[str]:
        if not self.to_record:
            return []
        all, new = len(self.to_record), len(self.unrecorded)
        text = f"Recording {new} of the {all} runs of seed {self.to_record[0].seed}"
        text += f"; {all - new} were recorded before." if new < all else "."
        if again := sum(self.store.has(id) for id in self.unrecorded):
            are = "is" if again == 1 else "are"
            text += f" {again} of them {are} run again for it; the numbers stored before stay."
        return [text + (" A recorded run keeps no snapshots: one that is stopped starts anew." if new else "")]


def _told_missing(things: Sequence[Missing]) -> str:
    """What is missing, as text; nothing if nothing is."""
    if not things:
        return ""
    lines = "\n".join(f"  - {one}" for one in things)
    return f"{len(things)} {'thing is' if len(things) == 1 else 'things are'} missing for these runs:\n{lines}"


def check_numbers(jobs: int, threads: int, snapshot_every: float) -> None:
    if jobs < 0 or threads < 1 or not snapshot_every > 0 or isnan(snapshot_every):
        expected = "expected jobs >= 0 (0 = one per core), threads >= 1 and snapshot_every > 0"
        raise GottaError(f"jobs={jobs}, threads={threads}, snapshot_every={snapshot_every}: {expected}.")


def check_device(device: str, here: bool = True) -> None:
    """Refuse a device that no machine has; and one that is not here, before anything runs on it."""
    try:
        found = torch.device(device)
        if here:
            torch.empty(1, device=found)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise GottaError(f"device '{device}' cannot be used: {reason.rstrip('.')}. Use --device cpu.") from None
