"""The comparison: memories against methods, a number over seeds in each cell."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gotta.errors import unknown
from gotta.experiment.sweep.store import Run
from gotta.report.pairs import difference
from gotta.report.places import SOURCE, Place, places
from gotta.report.statistics import ENOUGH
from gotta.report.tables.captions import setup_lines
from gotta.report.tables.cells import BEST, MEANINGLESS, Cell, Row, Table, over_seeds, rank

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
    "online.ece": Metric("Calibration error (%)", 1, False, "Expected calibration error in percent, 15 bins"),
    "online.nll": Metric("Negative log-likelihood", 3, False, "Mean negative log-likelihood, natural logarithm"),
}


def table(runs: Sequence[Run], metric: str = "accuracy") -> Table:
    """Memories by methods. `metric` is one of METRICS, the place of a number in the summary."""
    if metric not in METRICS:
        raise unknown("metric", metric, METRICS)
    how = METRICS[metric]
    found = places(runs)
    cells = defaultdict(list)
    for run, place in zip(runs, found, strict=True):
        cells[place.row, place.column].append(run)
    columns = _ordered(found, lambda place: (place.column_order, place.column))
    rows = _ordered(found, lambda place: (place.row_order, place.row))
    lines = [
        Row((row,), tuple(_cell(cells[row, column], row, column, metric, how.decimals) for column in columns), ranked)
        for row, ranked in ((row, not row.startswith("control: ")) for row in rows)
    ]
    for index, column in enumerate(columns):
        if column != SOURCE:
            lines = rank(lines, index, how.higher)
            if metric in PAIRED:
                lines = _tied(lines, index, {row: cells[row, column] for row in rows})
    result = Table(how.title, ("memory",), tuple(columns), tuple(lines))
    brackets = () if metric == "seconds" else ("In brackets: the seconds of one run.",)
    return replace(result, caption=(_explain(result, how), *brackets, *setup_lines(runs)))


def _tied(lines: Sequence[Row], index: int, runs: Mapping[str, Sequence[Run]]) -> list[Row]:
    """Mark what cannot be told from the best of a column on the same streams."""
    best = next((row.names[0] for row in lines if row.cells[index].mark == BEST), None)
    result = []
    for row in lines:
        cell = row.cells[index]
        compared = best is not None and row.ranked and cell.value is not None and cell.mark != BEST
        found = difference(runs[row.names[0]], runs[best]) if compared and best is not None else None
        if found is not None and found.tied:
            cells = (*row.cells[:index], replace(cell, tied=True), *row.cells[index + 1 :])
            row = replace(row, cells=cells)
        result.append(row)
    return result


def summary_value(summary: Mapping[str, Any], path: str) -> float | None:
    """The number at a dotted path of a summary; None if there is none."""
    value: Any = summary
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def by_seed(runs: Sequence[Run], value: Value) -> dict[int, float]:
    """The value for each seed."""
    found = defaultdict(list)
    for run in runs:
        number = value(run)
        if number is not None:
            found[run.spec.get("seed", 0)].append(number)
    return {seed: sum(values) / len(values) for seed, values in sorted(found.items())}


def _cell(runs: Sequence[Run], row: str, column: str, metric: str, decimals: int) -> Cell:
    if column == SOURCE and row != "none":
        return Cell(absent=MEANINGLESS)
    values = by_seed(runs, lambda run: summary_value(run.summary, metric))
    seconds = by_seed(runs, lambda run: summary_value(run.summary, "seconds"))
    mean_seconds = sum(seconds.values()) / len(seconds) if seconds and metric != "seconds" else None
    return replace(over_seeds(values, decimals, mean_seconds), no_effect=reason(runs))


def reason(runs: Sequence[Run]) -> str:
    """Why what these runs tried has no effect on their network, or nothing."""
    return next((str(run.summary["no_effect"]) for run in runs if run.summary.get("no_effect")), "")


def _ordered(found: Sequence[Place], key: Callable[[Place], tuple[Any, str]]) -> list[str]:
    return list(dict.fromkeys(name for _, name in sorted({key(place) for place in found})))


def _explain(result: Table, how: Metric) -> str:
    if not result.rows:
        return "There are no finished runs."
    text = f"{how.meaning}; mean over seeds" if result.seeds > 1 else f"{how.meaning}; one seed"
    text += _explain_spread(result)
    if result.has_ties:
        few = "one seed says" if result.seeds == 1 else f"{result.seeds} seeds say"
        other = "seeds and domains" if result.seeds >= ENOUGH else f"domains: {few} nothing about other streams"
        text += f"; ≈ cannot be told from the best of its column (paired difference at 95 % over {other})"
    if any(row.names[0].startswith("control: ") for row in result.rows):
        text += "; controls take as many samples per step as the memory rows"
    absent = {cell.absent for row in result.rows for cell in row.cells if cell.value is None}
    text += "; · was not run" if "·" in absent else ""
    return text + ("; n/a: a memory cannot change the source model." if MEANINGLESS in absent else ".")


def _explain_spread(result: Table) -> str:
    counts = {cell.seeds for row in result.rows for cell in row.cells if cell.value is not None}
    parts = []
    if result.seeds >= ENOUGH:
        parts.append(f"± covers other seeds on these domains at 95 % (Student's t, {result.seeds} seeds)")
    parts += ["± of two seeds is half their range"] if 2 in counts else []
    parts += ["fewer seeds where n= says so"] if len(counts) > 1 else []
    return "".join(f"; {part}" for part in parts)
