"""What a report tells of one panel, each thing computed once, in however many files it is shown."""

from dataclasses import dataclass
from functools import cached_property

from gotta.report.answer import Answer, answer
from gotta.report.figures import Figure, figures
from gotta.report.panel import Panel
from gotta.report.paper.side_by_side import Beside, beside
from gotta.report.tables.captions import setup_lines
from gotta.report.tables.cells import Table
from gotta.report.tables.comparison import table
from gotta.report.tables.details import (
    calibration_table,
    cost_table,
    domain_table,
    exposure_table,
    memory_table,
    open_set_table,
)
from gotta.report.tables.views import View, views
from gotta.report.tables.visits import visits_table

EXPLAINING = ("domains", "stream")  # kinds of figures, the better one first


@dataclass(frozen=True, eq=False)
class Part:
    """Number `number` of the `of` tables of a report."""

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
        """A line for each method and memory: domains, state of the memory, cost, calibration; others if they apply."""
        always = [make(self.panel) for make in (domain_table, memory_table, cost_table, calibration_table)]
        found = [make(self.panel) for make in (visits_table, exposure_table, open_set_table)]
        visits, *others = ([table] if table.rows else [] for table in found)
        return [always[0], *visits, *always[1:], *(table for tables in others for table in tables)]

    @cached_property
    def figures(self) -> list[Figure]:
        return figures(self.panel)

    @property
    def explaining(self) -> Figure | None:
        """The chart that stands beside the table."""
        return next((figure for figure in self.figures if figure.kind in EXPLAINING), None)

    @property
    def more_figures(self) -> list[Figure]:
        """All others."""
        return [figure for figure in self.figures if figure is not self.explaining]

    @cached_property
    def setup(self) -> list[str]:
        return setup_lines(self.panel)

    def table(self, metric: str = "accuracy") -> Table:
        """Memories by methods."""
        return next((view.table for view in self.views if view.key == metric), None) or table(self.panel, metric)
