"""What the paper claims of memories, and what becomes of it on runs of ours: confirmed, reversed, or neither."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from gotta.report.cells import Cell, Line, Table, of_difference
from gotta.report.latex import proper
from gotta.report.pairs import Difference, fair_difference
from gotta.report.panel import Entry, Panel
from gotta.report.paper.numbers import Published, lookup
from gotta.report.paper.side_by_side import printed_of, usual_capacity
from gotta.report.rows import SAME_SAMPLES
from gotta.report.statistics import PAIRS, SEEDS

FILE = Path(__file__).with_suffix(".yaml")
NONE = "none"
CONFIRMED, REVERSED, OPEN, UNJUDGED = "confirmed", "reversed", "not significant", "undecided"
VERDICTS = (CONFIRMED, OPEN, REVERSED, UNJUDGED)
AXES = ("method", "above", "below", "capacity", "gamma")  # of which a claim may list several


@dataclass(frozen=True)
class Claim:
    """One comparison: with this method and capacity, the memory `above` is said to be better than `below`.

    With `within` it is said to be level: no more than so many points below. `other` is the method of `below`, if it is
    another one.
    """

    page: str  # of docs/results: the table or figure it is about
    where: str
    says: str
    method: str
    above: str
    below: str
    capacity: int
    reset: str
    data: str = "cifar10-c"
    gamma: float = 0.1
    backbone: str | None = None
    within: float = 0.0
    other: str | None = None

    @property
    def sides(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Method and memory of `above`, and of `below`."""
        return (self.method, self.above), (self.other or self.method, self.below)

    def fits(self, method: str, memory: str, cell: Published) -> bool:
        """Is this printed cell the claim's one of this method and memory?"""
        asked = (method, memory, self.reset, self.data, self.gamma)
        same = asked == (cell.method, cell.memory, cell.reset, cell.data, cell.gamma)
        size = memory == "none" or cell.capacity == self.capacity
        return same and size and cell.backbone == (self.backbone or cell.backbone)

    @property
    def printed(self) -> float | None:
        """What the tables of the paper say: `above` less `below`."""
        values = []
        for method, memory in self.sides:
            found = [cell for cell in lookup(method, memory) if self.fits(method, memory, cell)]
            same = [cell for cell in found if cell.capacity == self.capacity] or found
            values += [same[0].value] if same else []
        return values[0] - values[1] if len(values) == 2 else None

    @property
    def words(self) -> str:
        """In a few words, without the setting."""
        below = f"{proper(self.other)} with {self.below}" if self.other else self.below
        return f"{self.above} {'level with' if self.within else 'above'} {below}"

    def judge(self, found: Difference) -> str:
        """What becomes of it on this difference."""
        one = found.estimate
        if one is None or one.half is None:
            return UNJUDGED
        ahead = one.mean + self.within
        return OPEN if abs(ahead) <= one.half else CONFIRMED if ahead > 0 else REVERSED


@dataclass(frozen=True)
class Judged:
    """A claim on runs of ours."""

    claim: Claim
    found: Difference

    @property
    def verdict(self) -> str:
        return self.claim.judge(self.found)


@dataclass(frozen=True)
class InTable(Judged):
    """`column` is the place of the runs in the table, with what tells it from others."""

    column: str
    steps: tuple[tuple[int, ...], tuple[int, ...]]  # samples per step with `above` and with `below`
    said: tuple[str, ...]  # where, and in which words


def claims() -> list[Claim]:
    """Every comparison, one by one."""
    return [claim for entry in yaml.safe_load(FILE.read_text(encoding="utf-8"))["claims"] for claim in _expand(entry)]


def judge(panel: Panel) -> list[InTable]:
    """Every comparison whose two cells the panel has, once, in the order of the paper and then of the table."""
    capacity = usual_capacity(panel)
    cells = [(entry, printed) for entry in panel.entries if (printed := printed_of(entry, capacity))]
    found: dict[tuple[Any, ...], InTable] = {}
    for claim in claims():
        uppers, lowers = (
            {entry.column: entry for entry, printed in cells if claim.fits(method, memory, printed)}
            for method, memory in claim.sides
        )
        for column, upper in uppers.items():
            # without a memory the statistics are others, which may be another column
            lower = lowers.get(column) or (next(iter(lowers.values())) if len(lowers) == 1 else None)
            if lower is None:
                continue
            if claim.below == NONE:
                lower = _in_steps_of(upper, lower, panel)
            key = column, claim.words, claim.capacity, claim.gamma
            said = found[key].said if key in found else ()
            gap = fair_difference(upper.runs, lower.runs)
            told = f"{claim.where}: {claim.says}"
            found[key] = InTable(claim, gap, column.label, (upper.steps, lower.steps), (*said, told))
    return list(found.values())


def claims_table(judged: Sequence[InTable]) -> Table:
    """A line for each comparison: what the paper prints, what ours is with its interval, and the verdict."""
    rows = [Line(_names(one), _cells(one), False) for one in judged]
    columns = ("printed", "ours", "verdict")
    return Table("What becomes of the claims", ("claim", "method"), columns, tuple(rows), tuple(_caption(judged)))


def told_verdicts(judged: Sequence[Judged]) -> str:
    """How many comparisons came to which end."""
    counts = Counter(one.verdict for one in judged)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])


def _names(one: InTable) -> tuple[str, str]:
    claim, (upper, lower) = one.claim, one.steps
    unequal = "" if upper == lower else f" (steps of {_and(upper)} against {_and(lower)} samples: no verdict)"
    size = f", M={claim.capacity}" + (f", gamma {claim.gamma:g}" if claim.gamma != 0.1 else "")
    return f"{claim.words}{size}{unequal}", one.column


def _cells(one: InTable) -> tuple[Cell, ...]:
    printed = Cell(one.claim.printed, seeds=len(one.found.seeds), decimals=2, signed=True)
    return printed, of_difference(one.found), Cell(absent=one.verdict)


def _caption(judged: Sequence[InTable]) -> list[str]:
    lines = [
        "Accuracy of the first memory less that of the second, paired on the same streams. A claim is confirmed or "
        "reversed if the 95 % interval, uncorrected, leaves out zero. No memory is the control that takes steps of the "
        "same size, where it was run.",
    ]
    if margins := sorted({one.claim.within for one in judged} - {0.0}):
        lines.append(
            f"Level with: the first may be {_and(margins)} point below, so -{_and(margins)} takes the place of zero."
        )
    if any(one.verdict == UNJUDGED for one in judged):
        lines.append(f"Undecided: a verdict needs {PAIRS} pairs of domain and seed, from {SEEDS} seeds at least.")
    said = dict.fromkeys(sentence for one in judged for sentence in one.said)
    return [*lines, *(f"The paper, {sentence}." for sentence in said)]


def _expand(entry: dict[str, Any]) -> Iterator[Claim]:
    lists = {
        name: entry[name] if isinstance(entry.get(name), list) else [entry[name]] for name in AXES if name in entry
    }
    for values in product(*lists.values()):
        chosen = dict(zip(lists, values, strict=True))
        claim = Claim(**{**entry, **chosen})
        first, second = claim.sides
        if first != second:
            yield claim


def _in_steps_of(upper: Entry, lower: Entry, panel: Panel) -> Entry:
    """The control without a memory that takes steps of the same size, if `lower` does not and there is one."""
    if upper.steps == lower.steps:
        return lower
    controls = [
        entry
        for entry in panel.entries
        if entry.row.plain() == SAME_SAMPLES
        and entry.column.method == upper.column.method
        and not entry.column.uses_order
    ]
    return controls[0] if len(controls) == 1 else lower


def _and(sizes: Sequence[float]) -> str:
    return " and ".join(f"{size:g}" for size in sizes)
