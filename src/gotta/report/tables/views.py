"""The main table in its several readings, each cell with its place on a scale of colours."""

from dataclasses import dataclass
from math import log

from gotta.report.cells import Cell, Table
from gotta.report.panel import Panel
from gotta.report.tables.comparison import METRICS, main_tables
from gotta.report.tables.gains import BASELINES, PRIOR, gain_table, prior_table

SHADES = 8  # of a scale that goes one way
SIDES = 4  # shades to each side of zero


@dataclass(frozen=True)
class View:
    """One reading of the main table: of memories, then of statistics and priors."""

    key: str
    tables: tuple[Table, ...]

    @property
    def name(self) -> str:
        return self.tables[0].title.partition(" (")[0]

    @property
    def is_gain(self) -> bool:
        """Whether it is of differences, which are above or below zero."""
        return self.key not in METRICS

    def shade(self, cell: Cell) -> str:
        """`s0`..`s8`, or `d-4`..`d4` around zero: the same scale in all of its tables."""
        if cell.value is None:
            return ""
        values = [cell.value for table in self.tables for cell in table.cells if cell.value is not None]
        value, low, high = cell.value, min(values), max(values)
        if self.is_gain:
            return f"d{round(SIDES * value / (max(abs(low), abs(high)) or 1.0))}"
        higher = METRICS[self.key].higher
        if not higher and low > 0 and high > 20 * low:  # seconds of cheap and dear methods
            value, low, high = log(value), log(low), log(high)
        share = (value - low) / (high - low) if high > low else 0.5
        return f"s{round(SHADES * (share if higher else 1 - share))}"


def views(panel: Panel) -> list[View]:
    """Accuracy, error, the gains for which there is a baseline, what the prior adds, seconds."""
    gained = {key: gain_table(panel, baseline) for key, baseline in BASELINES.items()} | {PRIOR: prior_table(panel)}
    return [
        *(View(key, tuple(main_tables(panel, key))) for key in ("accuracy", "error")),
        *(View(key, (table,)) for key, table in gained.items() if table.rows),
        View("seconds", tuple(main_tables(panel, "seconds"))),
    ]
