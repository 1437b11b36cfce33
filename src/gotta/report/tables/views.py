"""The main table in its several readings, each cell with its place on a scale of colours and the runs behind it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from gotta.report.panel import Panel, is_source
from gotta.report.tables.cells import BEST, Cell, Table
from gotta.report.tables.comparison import METRICS, table
from gotta.report.tables.gains import BASELINES, gain_table, has_baseline
from gotta.report.tables.prior_gains import PRIOR, prior_table

LEVELS = 8  # shades of a scale that goes one way
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
class Shown:
    """A cell with its shade (`s0`..`s8`, or `d-4`..`d4` around zero), its runs by seed; `top` leads the table."""

    cell: Cell
    shade: str
    runs: tuple[str, ...]
    top: bool = False


@dataclass(frozen=True)
class View:
    """One reading of the main table."""

    key: str
    name: str
    table: Table
    rows: tuple[tuple[str, bool, tuple[Shown, ...]], ...]  # name, ranked, cells


def views(panel: Panel) -> list[View]:
    """Accuracy, error, the gains for which there is a baseline, what the prior adds, seconds."""
    found = [_view(panel, key, table(panel, key)) for key in ("accuracy", "error")]
    for baseline in BASELINES:
        gained = gain_table(panel, baseline) if has_baseline(panel, baseline) else None
        found += [_view(panel, baseline, gained)] if gained is not None and gained.rows else []
    gained = prior_table(panel)
    found += [_view(panel, PRIOR, gained)] if gained.rows else []
    return [*found, _view(panel, "seconds", table(panel, "seconds"))]


def _view(panel: Panel, key: str, shown: Table) -> View:
    diverging = is_gain(key)
    higher = diverging or METRICS[key].higher
    values = [cell.value for row in shown.rows for cell in row.cells if cell.value is not None]
    top = _top(panel, shown, higher)
    rows = []
    for row in shown.rows:
        name = row.names[0]
        cells = tuple(
            Shown(cell, _shade(cell.value, values, diverging, higher), _ids(panel, name, column), id(cell) in top)
            for column, cell in zip(shown.columns, row.cells, strict=True)
        )
        rows.append((name, row.ranked, cells))
    return View(key, NAMES[key], shown, tuple(rows))


def _ids(panel: Panel, row: str, column: str) -> tuple[str, ...]:
    """The runs behind a cell, by seed."""
    return tuple(run.id for run in sorted(panel.cells[row, column], key=lambda run: (run.seed, run.id)))


def is_gain(key: str) -> bool:
    """Whether a reading is of differences, which are above or below zero."""
    return key in BASELINES or key == PRIOR


def _top(panel: Panel, shown: Table, higher: bool) -> set[int]:
    """The best cells of the whole table without a prior, and with one, among those that are ranked.

    Equal ones to the shown precision are alike.
    """
    found: set[int] = set()
    for bare in (True, False):
        contest = [
            cell
            for row in shown.rows
            for column, cell in zip(shown.columns, row.cells, strict=True)
            if row.ranked and not is_source(column) and (panel.priors.get(column, "none") == "none") == bare
            if cell.value is not None and cell.mark == BEST
        ]
        best = (max if higher else min)((float(cell.number) for cell in contest), default=0.0)
        found |= {id(cell) for cell in contest if float(cell.number) == best}
    return found


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
    return f"s{round(LEVELS * (share if higher else 1 - share))}"
