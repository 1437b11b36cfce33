"""What every figure is, and the runs that one line of it stands for."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gotta.experiment.sweep.store import Run
from gotta.report.figures.drawing import Drawing
from gotta.report.places import SOURCE, Place, places
from gotta.report.tables.cells import Cell, over_seeds
from gotta.report.tables.comparison import by_seed, summary_value

WIDTH = 760.0
MANY = 16  # lines that a figure can show; of more, the best


@dataclass(frozen=True)
class Figure:
    """A drawing with its name for a file, and what a reader must know to read it."""

    name: str
    title: str
    caption: str
    drawing: Drawing


def columns(runs: Sequence[Run]) -> dict[str, dict[str, list[Run]]]:
    """Column, row, runs: in the order of the tables, without the source model."""
    found: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run, place in _placed(runs):
        if place.column != SOURCE:
            found[place.column][place.row].append(run)
    return {column: dict(rows) for column, rows in found.items()}


def in_order(runs: Sequence[Run]) -> list[Run]:
    """As the tables have them, column by column."""
    return [run for run, _ in _placed(runs)]


def _placed(runs: Sequence[Run]) -> list[tuple[Run, Place]]:
    return sorted(zip(runs, places(runs), strict=True), key=lambda pair: (pair[1].column_order, pair[1].row_order))


def best_rows(rows: Mapping[str, Sequence[Run]], most: int = MANY) -> tuple[dict[str, Sequence[Run]], str]:
    """All rows in their order if a figure can show them, else the best and all without a choice; and words for that."""
    if len(rows) <= most:
        return dict(rows), ""
    kept = {row for row in rows if row == "none" or row.startswith("control: ")}
    by_accuracy = sorted((row for row in rows if row not in kept), key=lambda row: -(mean(rows[row]).value or 0.0))
    kept |= set(by_accuracy[: max(1, most - len(kept))])
    return {row: runs for row, runs in rows.items() if row in kept}, f" The best {len(kept)} of {len(rows)} rows."


def mean(runs: Sequence[Run], path: str = "accuracy") -> Cell:
    """The number of these runs over their seeds."""
    return over_seeds(by_seed(runs, lambda run: summary_value(run.summary, path)), 1)


def slug(text: str) -> str:
    """As part of the name of a file."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower() or "x"
