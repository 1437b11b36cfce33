"""The main table in its several readings, each cell with its place on a scale of colours."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from gotta.report.cells import Cell, Table
from gotta.report.panel import Panel
from gotta.report.tables.comparison import METRICS, main_tables
from gotta.report.tables.gains import BASELINES, PRIOR, gain_table, prior_table

SHADES = 8  # of a scale that goes one way
SIDES = 4  # shades to each side of zero
NAMES = {
    "accuracy": "Accuracy",
    "error": "Error",
    "none": "Gain over no memory",
    "running_statistics": "Gain over running statistics",
    PRIOR: "Gain of the prior",
    "seconds": "Seconds",
}


@dataclass(frozen=True)
class View:
    """One reading of the main table: of memories, then of statistics and priors."""

    key: str
    tables: tuple[Table, ...]

    @property
    def name(self) -> str:
        return NAMES[self.key]

    @property
    def is_gain(self) -> bool:
        """Whether it is of differences, which are above or below zero."""
        return self.key not in METRICS

    def shade(self, cell: Cell) -> str:
        """`s0`..`s8`, or `d-4`..`d4` around zero: the same scale in all of its tables."""
        values = [cell.value for table in self.tables for cell in table.cells if cell.value is not None]
        return _shade(cell.value, values, self.is_gain, self.is_gain or METRICS[self.key].higher)


def views(panel: Panel) -> list[View]:
    """Accuracy, error, the gains for which there is a baseline, what the prior adds, seconds."""
    gained = {key: gain_table(panel, baseline) for key, baseline in BASELINES.items()} | {PRIOR: prior_table(panel)}
    return [
        *(View(key, tuple(main_tables(panel, key))) for key in ("accuracy", "error")),
        *(View(key, (table,)) for key, table in gained.items() if table.rows),
        View("seconds", tuple(main_tables(panel, "seconds"))),
    ]


def _shade(value: float | None, values: Sequence[float], diverging: bool, higher: bool) -> str:
    if value is None:
        return ""
    if diverging:
        most = max(abs(v) for v in values) or 1.0
        return f"d{round(SIDES * value / most)}"
    low, high = min(values), max(values)
    if not higher and low > 0 and high > 20 * low:  # seconds of cheap and dear methods
        value, low, high = log(value), log(low), log(high)
    share = (value - low) / (high - low) if high > low else 0.5
    return f"s{round(SHADES * (share if higher else 1 - share))}"
