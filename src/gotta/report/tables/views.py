"""The main table in its several readings, each cell with its place on a scale of colours and the runs behind it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log

from gotta.report.panel import CONTROL, Panel, cell_name, is_source
from gotta.report.tables.cells import Cell, Row, Table
from gotta.report.tables.comparison import METRICS, explain, table
from gotta.report.tables.gains import BASELINES, gain_table, has_baseline
from gotta.report.tables.prior_gains import PRIOR, prior_table

LEVELS = 8  # shades of a scale that goes one way
FEW = 2  # columns of a table in which a row with one number is no empty row
SIDES = 4  # shades to each side of zero
STAR, BARE_STAR = "★", "☆"  # the best of the table; the best without a prior, where that is another
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
    """A cell with its shade (`s0`..`s8`, or `d-4`..`d4` around zero), its runs by seed, and a star if it leads."""

    cell: Cell
    shade: str
    runs: tuple[str, ...]
    top: str = ""


Line = tuple[str, bool, tuple[Shown, ...]]  # name, ranked, cells
Single = tuple[str, Shown]  # name of the cell, its number


@dataclass(frozen=True)
class Compact:
    """What a page shows first of a table. `alone` are the numbers of columns and rows that have but one, by name;
    `controls` are those of them that are not ranked.
    """

    alone: tuple[Single, ...]
    controls: tuple[Single, ...]
    columns: tuple[str, ...]
    rows: tuple[Line, ...]
    caption: tuple[str, ...]

    @property
    def stars(self) -> set[str]:
        return {shown.top for shown in self.shown}

    @property
    def shown(self) -> list[Shown]:
        rows = [shown for _, _, cells in self.rows for shown in cells]
        return [shown for _, shown in self.alone] + rows + [shown for _, shown in self.controls]


@dataclass(frozen=True)
class View:
    """One reading of the main table."""

    key: str
    name: str
    table: Table
    rows: tuple[Line, ...]

    @cached_property
    def compact(self) -> "Compact":
        """The same without columns and rows that have no number; single numbers are lists beside it."""
        return _compact(self)


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
    top = {} if diverging else _find_stars(panel, shown, higher)
    rows = []
    for row in shown.rows:
        name = row.names[0]
        cells = tuple(
            Shown(cell, _shade(cell.value, values, diverging, higher), _ids(panel, name, column), top.get(id(cell), ""))
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


def _find_stars(panel: Panel, shown: Table, higher: bool) -> dict[int, str]:
    """The best cells of the whole table, and if these have a prior the best without one, among those that are ranked.

    Equal ones to the shown precision are alike; one cell alone is no contest.
    """
    contest = [
        (cell, panel.priors.get(column, "none") == "none")
        for row in shown.rows
        for column, cell in zip(shown.columns, row.cells, strict=True)
        if row.ranked and not is_source(column) and cell.value is not None and not cell.no_effect
    ]
    if len(contest) < 2:
        return {}
    found: dict[int, str] = {}
    for star, cells in ((BARE_STAR, [cell for cell, bare in contest if bare]), (STAR, [cell for cell, _ in contest])):
        best = (max if higher else min)((float(cell.number) for cell in cells), default=None)
        found |= {id(cell): star for cell in cells if float(cell.number) == best}
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


def _compact(view: View) -> Compact:
    columns = view.table.columns
    known = {name: [k for k, s in enumerate(cells) if s.cell.value is not None] for name, _, cells in view.rows}
    several = [k for k in range(len(columns)) if sum(k in found for found in known.values()) > 1]
    most = 1 if len(several) > FEW else 0  # numbers of a row that is taken apart
    full = {name for name, found in known.items() if sum(k in several for k in found) > most}
    kept = [k for k in several if any(k in known[name] for name in full)]
    rows = tuple((name, ranked, tuple(cells[k] for k in kept)) for name, ranked, cells in view.rows if name in full)
    singles: list[tuple[bool, Single]] = []
    for name, ranked, cells in view.rows:
        apart = [k for k in known[name] if name not in full or k not in kept]
        singles += [(ranked, (cell_name(columns[k], name), cells[k])) for k in apart]
    alone, controls = (tuple(single for ranked, single in singles if ranked == which) for which in (True, False))
    caption = view.table.caption if is_gain(view.key) else (_explain(view, rows, singles),)
    return Compact(alone, controls, tuple(columns[k] for k in kept), rows, tuple(view.table.footnotes) + caption)


def _explain(view: View, rows: Sequence[Line], singles: Sequence[tuple[bool, Single]]) -> str:
    """What stands below the table, of what is left in it."""
    lines = [Row((name,), tuple(shown.cell for shown in cells), ranked) for name, ranked, cells in rows]
    lines += [Row((name if ranked else CONTROL,), (shown.cell,), ranked) for ranked, (name, shown) in singles]
    return explain(replace(view.table, rows=tuple(lines)), view.key)
