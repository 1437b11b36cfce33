"""A folder of runs, read once and placed once: what everything in a report is made from."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gotta.experiment.run.memory_film import FOLDER as FILMS
from gotta.experiment.sweep.kept import Runs, open_runs
from gotta.report.answer import Answer, answer
from gotta.report.cells import Table
from gotta.report.figures import Figure, figures
from gotta.report.panel import Panel, Placed, place
from gotta.report.paper.side_by_side import Beside, beside, beside_table
from gotta.report.stored_run import Damaged, Run, read_runs
from gotta.report.tables.captions import setup_lines
from gotta.report.tables.choices import choice_table
from gotta.report.tables.comparison import main_tables
from gotta.report.tables.details import domain_table, memory_table, summary_tables, visits_table
from gotta.report.tables.gains import matrix_table
from gotta.report.tables.views import View, views

EXPLAINING = ("domains", "stream")  # kinds of figures, the better one first


@dataclass(frozen=True, eq=False)
class Chapter:
    """Number `number` of the `of` chapters of a report: everything about one panel, computed once."""

    panel: Panel
    number: int = 1
    of: int = 1

    @property
    def anchor(self) -> str:
        return f"set-up-{self.number}"

    @property
    def title(self) -> str:
        return self.panel.title if self.of > 1 else self.panel.recipe

    @cached_property
    def answer(self) -> Answer:
        return answer(self.panel)

    @cached_property
    def views(self) -> list[View]:
        return views(self.panel)

    @cached_property
    def beside(self) -> Beside | None:
        return beside(self.panel)

    @cached_property
    def details(self) -> list[Table]:
        """A line for each method and memory: domains, state of the memory, cost, calibration; what else applies."""
        first = [make(self.panel) for make in (domain_table, visits_table, memory_table)]
        made = [*first, *summary_tables(self.panel), matrix_table(self.panel)]
        return [table for table in made if table.rows]

    @property
    def all_tables(self) -> list[Table]:
        """For files: the comparison in every reading but seconds, the paper's numbers, the details."""
        compared = [table for view in self.views if view.key != "seconds" for table in view.tables]
        return [*compared, *([beside_table(self.beside)] if self.beside else []), *self.details]

    @cached_property
    def figures(self) -> list[Figure]:
        return figures(self.panel)

    @property
    def explaining(self) -> Figure | None:
        """The chart that stands beside the table."""
        return next((figure for figure in self.figures if figure.kind in EXPLAINING), None)

    @cached_property
    def setup(self) -> list[str]:
        return setup_lines(self.panel)

    def tables(self, metric: str = "accuracy") -> list[Table]:
        """Memories by methods, then statistics and priors if there are any."""
        return main_tables(self.panel, metric)


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
    def chapters(self) -> tuple[Chapter, ...]:
        """One for each panel, in the order of the report."""
        panels = self.placed.panels
        return tuple(Chapter(panel, number, len(panels)) for number, panel in enumerate(panels, 1))

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
