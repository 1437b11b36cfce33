"""A folder of runs, read once and placed once: what everything in a report is made from."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gotta.experiment.run.memory_film import FOLDER as FILMS
from gotta.experiment.sweep.kept import Runs, open_runs
from gotta.report.figures import Figure, figures
from gotta.report.panel import Placed, place
from gotta.report.part import Part
from gotta.report.stored_run import Damaged, Run, read_runs
from gotta.report.tables.cells import Table
from gotta.report.tables.choices import choice_table


@dataclass(frozen=True, eq=False)
class Results:
    """The runs by id, those that cannot be read, and the ids of those whose memory was filmed."""

    root: Path
    runs: tuple[Run, ...]
    damaged: tuple[Damaged, ...] = ()
    filmed: frozenset[str] = frozenset()

    @cached_property
    def placed(self) -> Placed:
        return place(self.runs)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """One for each table, in the order of the report."""
        panels = self.placed.panels
        return tuple(Part(panel, number, len(panels)) for number, panel in enumerate(panels, 1))

    @cached_property
    def across(self) -> list[Figure]:
        """The figures that go across the tables, which differ in what they show."""
        return figures(self.placed.whole, across=True)

    @cached_property
    def choices(self) -> Table:
        """Which values of swept settings would have been chosen without labels; a capacity is swept across tables."""
        return choice_table(self.placed.whole)

    def only(self, ids: Collection[str]) -> "Results":
        """The results of these runs; what is left out changes which settings tell the others apart."""
        chosen = tuple(run for run in self.runs if run.id in ids)
        return self if len(chosen) == len(self.runs) else replace(self, runs=chosen)


def read_results(store: Runs | str | Path) -> Results:
    """Everything that is finished, as it is now: in a store, or in kept lines."""
    if isinstance(store, str | Path):
        store = open_runs(store)
    runs, damaged = read_runs(store)
    films = [path for path in (store.root / FILMS).glob("*.json") if path.is_file() and not path.is_symlink()]
    return Results(store.root, tuple(runs), tuple(damaged), frozenset(path.stem for path in films))
