"""What a table is: rows of cells with their intervals and marks, before anybody decides how to show it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gotta.report.pairs import Difference
from gotta.report.statistics import estimate

MISSING = "·"
MEANINGLESS = "n/a"
NO_EFFECT = "†"
BEST, SECOND = "best", "second"
TIED = " ≈"


@dataclass(frozen=True)
class Cell:
    """A number over seeds. `interval` is half the width of its interval; without a value `absent` is shown.

    `tied` says that it cannot be told from what its table compares with: the best of the column, or the baseline.
    """

    value: float | None = None
    interval: float | None = None
    seeds: int = 0
    seconds: float | None = None
    decimals: int = 1
    mark: str = ""
    absent: str = MISSING
    no_effect: str = ""  # why the number is not the cell's own, if so
    tied: bool = False
    signed: bool = False

    @property
    def number(self) -> str:
        sign = "+" if self.signed else ""
        return self.absent if self.value is None else f"{self.value:{sign}.{self.decimals}f}"

    def extras(self, usual_seeds: int) -> str:
        """The sign of no effect, the interval, in brackets the number of seeds if unusual and the seconds of a run."""
        if self.value is None:
            return ""
        interval = NO_EFFECT if self.no_effect else ""
        interval += TIED if self.tied else ""
        interval += "" if self.interval is None else f" ± {self.interval:.{self.decimals}f}"
        notes = [f"n={self.seeds}"] if self.seeds != usual_seeds else []
        notes += [] if self.seconds is None else [f"{self.seconds:.1f} s"]
        return interval + (f" ({', '.join(notes)})" if notes else "")


@dataclass(frozen=True)
class Row:
    """One line: its name in as many parts as the table's heading has, and a cell for each column."""

    names: tuple[str, ...]
    cells: tuple[Cell, ...]
    ranked: bool = True


@dataclass(frozen=True)
class Table:
    title: str
    heading: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    caption: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what must be known to read it at all

    @cached_property
    def seeds(self) -> int:
        """The usual number of seeds of a cell: the largest."""
        return max((cell.seeds for row in self.rows for cell in row.cells), default=0)

    @property
    def footnotes(self) -> list[str]:
        """The notes, and why cells with the sign of no effect have it, each reason once."""
        reasons = dict.fromkeys(cell.no_effect for row in self.rows for cell in row.cells if cell.no_effect)
        return [*self.notes, *(f"{NO_EFFECT} without effect: {reason}" for reason in reasons)]

    @property
    def has_ties(self) -> bool:
        return any(cell.tied for row in self.rows for cell in row.cells)

    @property
    def has_marks(self) -> bool:
        return any(cell.mark for row in self.rows for cell in row.cells)


def over_seeds(by_seed: dict[int, float], decimals: int, seconds: float | None = None, interval: bool = True) -> Cell:
    """The mean over seeds, with its interval over other seeds; of two seeds, too few for one, half their range."""
    if not by_seed:
        return Cell(decimals=decimals)
    values = list(by_seed.values())
    half = estimate([[value] for value in values], over="seeds").half if interval else None
    if interval and len(values) == 2:
        half = abs(values[0] - values[1]) / 2
    return Cell(sum(values) / len(values), half, len(values), seconds, decimals)


def of_difference(found: Difference, decimals: int = 1) -> Cell:
    """A paired difference with its interval over seeds and domains; `unpaired` where the streams differ."""
    if found.estimate is None:
        return Cell(absent="unpaired" if any("differ" in reason for reason in found.refused) else MISSING)
    gain = found.estimate
    return Cell(gain.mean, gain.half, len(found.seeds), decimals=decimals, tied=found.tied, signed=True)


def rank(rows: Sequence[Row], column: int, higher: bool) -> list[Row]:
    """Mark the best and the second best of a column, equal ones to the shown precision alike; one alone stays bare."""
    contest = [row.cells[column] for row in rows if _competes(row, row.cells[column])]
    places = sorted({float(cell.number) for cell in contest}, reverse=higher)[:2]
    marks = dict(zip(places, (BEST, SECOND), strict=False)) if len(contest) > 1 else {}
    return [_mark(row, column, marks) for row in rows]


def _competes(row: Row, cell: Cell) -> bool:
    return row.ranked and cell.value is not None and not cell.no_effect


def _mark(row: Row, column: int, marks: dict[float, str]) -> Row:
    cell = row.cells[column]
    if not _competes(row, cell):
        return row
    mark = marks.get(float(cell.number), "")
    return replace(row, cells=(*row.cells[:column], replace(cell, mark=mark), *row.cells[column + 1 :]))
