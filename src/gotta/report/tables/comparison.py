"""The comparison: memories against methods first, then statistics and priors, a number over seeds in each cell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gotta.errors import unknown
from gotta.groups import group
from gotta.report.cells import BEST, MISSING, Cell, Line, Table, measure, number, rank
from gotta.report.pairs import fair_difference
from gotta.report.panel import Entry, Panel, Place
from gotta.report.statistics import FOR_A_CELL
from gotta.report.tables.captions import setup_lines

PAIRED = ("accuracy", "error")


@dataclass(frozen=True)
class Metric:
    """How a number of a run's summary is called and shown, and which way is better."""

    title: str
    decimals: int
    higher: bool
    meaning: str


METRICS = {
    "accuracy": Metric("Accuracy (%)", 1, True, "Accuracy in percent, mean over domains"),
    "error": Metric("Error (%)", 1, False, "Error in percent, mean over domains"),
    "seconds": Metric("Seconds per run", 1, False, "Seconds per run"),
}


def table(panel: Panel, metric: str = "accuracy") -> Table:
    """Memories by methods, below the source model; where there are none, everything. `metric` is one of METRICS."""
    entries = [entry for entry in panel.entries if entry.is_about_memories and not entry.column.is_source]
    entries = entries or [entry for entry in panel.entries if not entry.column.is_bare_source]
    cells: dict[Place, Cell] = {}
    for members in group(entries, lambda entry: entry.column).values():
        column = zip(members, _column(members, metric), strict=True)
        cells |= {(entry.row, entry.column): cell for entry, cell in column}
    made = grid(panel, cells, METRICS[metric].title)
    if panel.source and entries:  # no memory or method changes it, so it is the same in each column
        first = Line(("source model",), (_cell(panel.source, metric),) * len(made.columns), False)
        made = replace(made, rows=(first, *made.rows))
    return replace(made, caption=(explain(made, metric), *setup_lines(panel)))


def grid(panel: Panel, cells: Mapping[Place, Cell], title: str, caption: tuple[str, ...] = ()) -> Table:
    """Memories by methods: the rows and columns that have a cell, in the order of the panel."""
    rows = [row for row in panel.rows if any(place[0] == row for place in cells)]
    columns = [column for column in panel.columns if any(place[1] == column for place in cells)]
    lines = [
        Line((row.label,), tuple(cells.get((row, column), Cell()) for column in columns), not row.is_control)
        for row in rows
    ]
    return Table(title, ("memory",), tuple(column.label for column in columns), tuple(lines), caption)


def other_table(panel: Panel, metric: str = "accuracy") -> Table:
    """Statistics and priors: a line for each method that has them; no lines where none has or nothing else is there."""
    own = [entry for entry in panel.entries if not entry.is_about_memories]
    memories = [entry for entry in panel.entries if entry.is_about_memories and not entry.column.is_source]
    entries = own if memories else []
    cells = zip(entries, _column(entries, metric), strict=True)
    lines = [Line((entry.name,), (cell,), entry.is_ranked) for entry, cell in cells]
    made = Table("Statistics and priors", ("method",), (METRICS[metric].title,), tuple(lines))
    return replace(made, caption=(explain(made, metric),))


def main_tables(panel: Panel, metric: str = "accuracy") -> list[Table]:
    """The comparison of memories, and if there are any that of statistics and priors."""
    if metric not in METRICS:
        raise unknown("metric", metric, METRICS)
    other = other_table(panel, metric)
    return [table(panel, metric), *([other] if other.rows else [])]


def explain(result: Table, metric: str) -> str:
    """What the numbers and signs of a comparison mean: only what is in it."""
    if not result.rows:
        return "There are no finished runs."
    cells = [cell for cell in result.cells if cell.value is not None]
    parts = [f"{METRICS[metric].meaning}{', and over seeds' if result.seeds > 1 else '; one seed'}"]
    if result.seeds >= FOR_A_CELL:
        parts.append(f"± is the 95 % interval over other seeds on these domains (Student's t, {result.seeds} seeds)")
    parts += ["In brackets: the range of two seeds"] if any(cell.range for cell in cells) else []
    parts += ["There are fewer seeds where n= says so"] if len({cell.seeds for cell in cells}) > 1 else []
    parts += ["≈ is judged by the paired difference at 95 %, uncorrected"] if any(cell.tied for cell in cells) else []
    parts += ["· was not run"] if any(cell.absent == MISSING and cell.value is None for cell in result.cells) else []
    return ". ".join(parts) + "."


def _cell(entry: Entry, metric: str) -> Cell:
    if metric == "accuracy":
        return entry.accuracy
    return measure(entry.runs, number(metric), METRICS[metric].decimals)


def _column(entries: Sequence[Entry], metric: str) -> list[Cell]:
    """The cells of a column with their marks: best, second, not significantly different from the best, other steps."""
    ranked = [entry.is_ranked for entry in entries]
    cells = rank([_cell(entry, metric) for entry in entries], ranked, METRICS[metric].higher)
    if metric not in PAIRED:
        return cells
    first = [entry for entry, cell in zip(entries, cells, strict=True) if cell.mark == BEST]
    result = []
    for entry, cell in zip(entries, cells, strict=True):
        rivals = [other for other in first if other.column.uses_order == cell.uses_order]
        if rivals and entry.is_ranked and cell.value is not None and cell.mark != BEST:
            cell = beside_best(cell, entry, max(rivals, key=lambda entry: entry.mean))
        result.append(cell)
    return result


def beside_best(cell: Cell, entry: Entry, best: Entry) -> Cell:
    """Marked where its entry is not significantly different from the best, or takes other steps."""
    return replace(cell, tied=fair_difference(entry.runs, best.runs).tied, other_steps=entry.steps != best.steps)
