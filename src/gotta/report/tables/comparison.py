"""The comparison: memories against methods, a number over seeds in each cell."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gotta.errors import unknown
from gotta.report.pairs import fair_difference
from gotta.report.panel import LEVELS, NONE, Panel, is_control, is_source
from gotta.report.rates import at_best
from gotta.report.statistics import ENOUGH
from gotta.report.stored_run import Run
from gotta.report.tables.captions import order_notes, setup_lines
from gotta.report.tables.cells import BEST, MEANINGLESS, MISSING, Cell, Row, Table, over_seeds, rank

PAIRED = ("accuracy", "error")
Value = Callable[[Run], float | None]


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
    "online.overall": Metric("Accuracy over all samples (%)", 1, True, "Accuracy in percent over all samples"),
    "online.class_accuracy": Metric(
        "Accuracy, mean over classes (%)", 1, True, "Accuracy of each class in percent, mean over classes and domains"
    ),
    "online.ece": Metric("Calibration error (%)", 1, False, "Expected calibration error in percent, 15 bins"),
    "online.nll": Metric("Negative log-likelihood", 3, False, "Mean negative log-likelihood, natural logarithm"),
}


def table(panel: Panel, metric: str = "accuracy") -> Table:
    """Memories by methods. `metric` is one of METRICS, the place of a number in the summary."""
    if metric not in METRICS:
        raise unknown("metric", metric, METRICS)
    how = METRICS[metric]
    rows = [
        Row((row,), tuple(_cell(panel, row, column, metric) for column in panel.columns), not is_control(row))
        for row in panel.rows
    ]
    for index, column in enumerate(panel.columns):
        if not is_source(column):
            rows = rank(rows, index, how.higher)
            if metric in PAIRED:
                rows = _mark_ties(rows, index, panel.methods[column])
    result = Table(how.title, ("memory",), panel.columns, tuple(rows), notes=order_notes(panel))
    brackets = () if metric == "seconds" else ("In brackets: the seconds of one run.",)
    return replace(result, caption=(explain(result, metric), *brackets, *setup_lines(panel)))


def _mark_ties(lines: Sequence[Row], index: int, runs: Mapping[str, Sequence[Run]]) -> list[Row]:
    """Mark what cannot be told from the best of a column, on the same streams and in steps of the same size."""
    first = [row for row in lines if row.cells[index].mark == BEST]
    best = max(first, key=lambda row: row.cells[index].value or 0.0).names[0] if first else None
    result = []
    for row in lines:
        cell = row.cells[index]
        compared = best is not None and row.ranked and cell.value is not None and cell.mark != BEST
        found = fair_difference(runs[row.names[0]], runs[best]) if compared and best is not None else None
        if found is not None and found.tied:
            cells = (*row.cells[:index], replace(cell, tied=True), *row.cells[index + 1 :])
            row = replace(row, cells=cells)
        result.append(row)
    return result


def by_seed(runs: Sequence[Run], value: Value) -> dict[int, float]:
    """The value for each seed."""
    found = defaultdict(list)
    for run in runs:
        number = value(run)
        if number is not None:
            found[run.seed].append(number)
    return {seed: sum(values) / len(values) for seed, values in sorted(found.items())}


def number(name: str) -> Value:
    """The number with this dotted name in a run's results."""
    return lambda run: run.numbers.get(name)


def cell(runs: Sequence[Run], metric: str = "accuracy") -> Cell:
    """The number of these runs over their seeds, with the seconds of one run."""
    seconds = by_seed(runs, number("seconds"))
    mean_seconds = sum(seconds.values()) / len(seconds) if seconds and metric != "seconds" else None
    values = by_seed(runs, number(metric))
    return replace(over_seeds(values, METRICS[metric].decimals, mean_seconds), no_effect=reason(runs))


def reason(runs: Sequence[Run]) -> str:
    """Why what these runs tried has no effect on their network, or nothing."""
    return next((run.summary.no_effect for run in runs if run.summary.no_effect), "")


def _cell(panel: Panel, row: str, column: str, metric: str) -> Cell:
    if is_source(column) and row != NONE:
        return Cell(absent=MEANINGLESS)
    return cell(panel.cells[row, column], metric)


def explain(result: Table, metric: str) -> str:
    """What the numbers and signs of a comparison mean: only what is in it."""
    how = METRICS[metric]
    if not result.rows:
        return "There are no finished runs."
    parts = [f"{how.meaning}{', and over seeds' if result.seeds > 1 else '; one seed'}", *_explain_spread(result)]
    if result.has_ties:
        few = "one seed says" if result.seeds == 1 else f"{result.seeds} seeds say"
        other = "seeds and domains" if result.seeds >= ENOUGH else f"domains; {few} nothing about other streams"
        parts.append(f"≈: cannot be told from the best of its column (paired difference at 95 % over {other})")
    if any(is_control(row.names[0]) for row in result.rows):
        parts.append("Controls take as many samples per step as the memory rows")
    parts += _explain_rows([row.names[0] for row in result.rows])
    absent = {cell.absent for row in result.rows for cell in row.cells if cell.value is None}
    parts += ["· was not run"] if MISSING in absent else []
    parts += ["n/a: a memory cannot change the source model"] if MEANINGLESS in absent else []
    return ". ".join(parts) + "."


def _explain_rows(rows: Sequence[str]) -> list[str]:
    lines = []
    if any(map(at_best, rows)):
        lines.append(
            "Best rates were chosen on corruptions that are in no table (recipe statistics), 2,000 images of each"
        )
    if levels := [row for row in rows if row in LEVELS]:
        lines.append(f"Rows of {' and '.join(levels)} have no memory")
    return lines


def _explain_spread(result: Table) -> list[str]:
    counts = {cell.seeds for row in result.rows for cell in row.cells if cell.value is not None}
    parts = []
    if result.seeds >= ENOUGH:
        parts.append(f"± covers other seeds on these domains at 95 % (Student's t, {result.seeds} seeds)")
    parts += ["± of two seeds is half their range"] if 2 in counts else []
    return parts + (["There are fewer seeds where n= says so"] if len(counts) > 1 else [])
