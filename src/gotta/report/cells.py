"""What a table is: lines of cells with their intervals and marks, before anybody decides how to show it."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gotta.report.pairs import Difference
from gotta.report.statistics import estimate_over_seeds
from gotta.report.stored_run import Run

MISSING = "·"
NO_EFFECT = "†"
BEST, SECOND = "best", "second"
TIED, OTHER_STEPS, ORDER = "≈", "≠", "»"
MARKS = {
    TIED: "not significantly different from the best",
    OTHER_STEPS: "not comparable with the best (other steps)",
    ORDER: "uses the order of samples or the mix of a batch",
}
Value = Callable[[Run], float | None]


@dataclass(frozen=True)
class Cell:
    """A number over seeds, and the ids of its runs by seed.

    `interval` is half the width of its interval; where seeds are too few for one, `range` is what there is. Without a
    value `absent` is shown. `tied` and `other_steps` compare it with the best of its column, or the baseline.
    """

    value: float | None = None
    interval: float | None = None
    seeds: int = 0
    decimals: int = 1
    mark: str = ""
    absent: str = MISSING
    no_effect: str = ""  # why the number is not the cell's own, if so
    tied: bool = False
    other_steps: bool = False
    uses_order: bool = False
    signed: bool = False
    range: tuple[float, float] | None = None
    runs: tuple[str, ...] = ()

    @property
    def number(self) -> str:
        return self.absent if self.value is None else self._show(self.value)

    @property
    def signs(self) -> str:
        """The three marks, and that of no effect."""
        if self.value is None:
            return ""
        known = ((NO_EFFECT, self.no_effect), (TIED, self.tied), (OTHER_STEPS, self.other_steps))
        return "".join(sign for sign, is_there in (*known, (ORDER, self.uses_order)) if is_there)

    @property
    def spread(self) -> str:
        """The interval, or the range."""
        if self.value is None:
            return ""
        if self.interval is not None:
            return f"± {self.interval:.{self.decimals}f}"
        ends = [self._show(value) for value in self.range or ()]
        return f"({ends[0]} to {ends[1]})" if len(set(ends)) > 1 else ""

    def extras(self, usual_seeds: int) -> str:
        """What stands behind the number: marks, interval, and the number of seeds if that is unusual."""
        few = f"n={self.seeds}" if self.value is not None and self.seeds != usual_seeds else ""
        return "".join(f" {part}" for part in (self.signs, self.spread, few) if part)

    def _show(self, value: float) -> str:
        return f"{value:{'+' if self.signed else ''}.{self.decimals}f}"


@dataclass(frozen=True)
class Line:
    """One line: its name in as many parts as the table's heading has, and a cell for each column."""

    names: tuple[str, ...]
    cells: tuple[Cell, ...]
    ranked: bool = True


@dataclass(frozen=True)
class Table:
    """`notes` are what must be known to read it at all, `caption` is what else there is to know."""

    title: str
    heading: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[Line, ...]
    caption: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def cells(self) -> list[Cell]:
        return [cell for row in self.rows for cell in row.cells]

    @cached_property
    def seeds(self) -> int:
        """The usual number of seeds of a cell: the largest."""
        return max((cell.seeds for cell in self.cells), default=0)

    @property
    def legend(self) -> list[str]:
        """What the marks mean that are in it."""
        there = set("".join(cell.signs for cell in self.cells))
        return [f"{sign} {meaning}" for sign, meaning in MARKS.items() if sign in there]

    @property
    def footnotes(self) -> list[str]:
        """The notes, and why cells with the sign of no effect have it, each reason once."""
        reasons = dict.fromkeys(cell.no_effect for cell in self.cells if cell.no_effect)
        return [*self.notes, *(f"{NO_EFFECT} without effect: {reason}" for reason in reasons)]

    @property
    def has_marks(self) -> bool:
        return any(cell.mark for cell in self.cells)


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


def measure(runs: Sequence[Run], value: Value, decimals: int = 1, interval: bool = True) -> Cell:
    """The mean over seeds, with its interval over other seeds; of two seeds, too few for one, their range."""
    values = list(by_seed(runs, value).values())
    if not values:
        return Cell(decimals=decimals)
    found = estimate_over_seeds(values)
    return Cell(
        found.mean,
        found.half if interval else None,
        found.seeds,
        decimals,
        no_effect=next((run.summary.no_effect for run in runs if run.summary.no_effect), ""),
        uses_order=any(run.uses_order for run in runs),
        range=found.range if interval and found.half is None and len(values) > 1 else None,
        runs=tuple(run.id for run in sorted(runs, key=lambda run: (run.seed, run.id))),
    )


def of_difference(found: Difference, decimals: int = 1) -> Cell:
    """A paired difference with its interval over seeds and domains, or its range; `unpaired` if the streams differ."""
    gain = found.estimate
    if gain is None:
        return Cell(absent="unpaired" if found.refused else MISSING)
    span = gain.range if gain.half is None and gain.pairs > 1 else None
    return Cell(gain.mean, gain.half, len(found.seeds), decimals, tied=found.tied, signed=True, range=span)


def rank(cells: Sequence[Cell], ranked: Sequence[bool], higher: bool) -> list[Cell]:
    """A column with marks on the best and the second best of what is ranked, equal ones to the shown precision alike;
    one alone stays bare.

    What uses the order of samples is ranked apart from what does not.
    """
    found = list(cells)
    able = [k for k, cell in enumerate(cells) if ranked[k] and cell.value is not None and not cell.no_effect]
    for order in (False, True):
        numbers = {k: float(cells[k].number) for k in able if cells[k].uses_order == order}
        places = sorted(set(numbers.values()), reverse=higher)[:2] if len(numbers) > 1 else []
        for k, number in numbers.items():
            if number in places:
                found[k] = replace(cells[k], mark=(BEST, SECOND)[places.index(number)])
    return found
