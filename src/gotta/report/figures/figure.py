"""What every figure is, and the runs that one line of it stands for."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from gotta.experiment.store import Run
from gotta.report.cells import Cell, over_seeds
from gotta.report.comparison import by_seed, summary_value
from gotta.report.drawing import Drawing
from gotta.report.places import SOURCE, places

WIDTH = 760.0


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
    order = sorted(zip(runs, places(runs), strict=True), key=lambda pair: (pair[1].column_order, pair[1].row_order))
    for run, place in order:
        if place.column != SOURCE:
            found[place.column][place.row].append(run)
    return {column: dict(rows) for column, rows in found.items()}


def mean(runs: Sequence[Run], path: str = "accuracy") -> Cell:
    """The number of these runs over their seeds."""
    return over_seeds(by_seed(runs, lambda run: summary_value(run.summary, path)), 1)


def slug(text: str) -> str:
    """As part of the name of a file."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower() or "x"
