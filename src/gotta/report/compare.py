"""Two entries of the same runs compared: like with like, or a refusal that names what differs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gotta.errors import GottaError, unknown
from gotta.report.answer import tell_difference
from gotta.report.pairs import Difference, fair_difference, pair_by_seed
from gotta.report.panel import Entry, Panel
from gotta.report.statistics import PAIRS, SEEDS, Estimate, predict_half
from gotta.safe_text import tell_number

MOST = 1000  # seeds or domains that anybody would add


@dataclass(frozen=True, eq=False)
class Comparison:
    """One entry less the other, paired on the same streams; `where` tells the set-up if there are several."""

    first: Entry
    second: Entry
    found: Difference
    where: str = ""

    @property
    def gap(self) -> Estimate:
        """With its 95 % interval, uncorrected."""
        assert self.found.estimate is not None
        return self.found.estimate

    def to_settle(self) -> dict[str, int]:
        """How many more seeds, or how many more domains, would make this difference significant if it is real.

        A guess from the spread so far; what would take more than a thousand is left out.
        """
        gap = self.gap
        found: dict[str, int] = {}
        if self.found.verdict or gap.mean == 0:
            return {}
        table = np.array(pair_by_seed(self.first.runs, self.second.runs)[0])
        for what, seed, domain in (("seed", 1, 0), ("domain", 0, 1)):
            for more in range(1, MOST):
                if predict_half(table, gap.seeds + more * seed, gap.domains + more * domain) < abs(gap.mean):
                    found[what] = more
                    break
        return found

    def __str__(self) -> str:
        gap = self.gap
        told = f"{self.first.name} is {tell_difference(self.found, self.second.name)}"
        counted = (
            f"{tell_number(gap.pairs, 'pair')}: {tell_number(gap.seeds, 'seed')} x {tell_number(gap.domains, 'domain')}"
        )
        span = "" if gap.half is not None or gap.pairs < 2 else f"; range {gap.range[0]:+.1f} to {gap.range[1]:+.1f}"
        text = f"{f'{self.where}: ' if self.where else ''}{told} ({counted}{span})."
        more = " or ".join(tell_number(number, f"more {what}") for what, number in self.to_settle().items())
        few = "" if gap.half is not None else f" Too few for a verdict, which needs {PAIRS} pairs from {SEEDS} seeds."
        return text + few + (f" About {more} would settle it." if more else "")


class Comparisons(tuple[Comparison, ...]):
    """One for each method and set-up in which both were run. Printed, each has a line."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    __repr__ = __str__


def compare(panels: Sequence[Panel], first: str, second: str) -> Comparisons:
    """Every pair of entries of these names that differ in nothing else: `compare(panels, "fps", "cstu")`.

    A name is that of a memory, method, statistics or control, or of both parts, as in `rotta + fps`.
    """
    found, refused = [], []
    for panel in panels:
        mine, theirs = (_find(panel, name) for name in (first, second))
        for ours, other in ((a, b) for a in mine for b in theirs if a is not b):
            differs = _differs(ours, other, first, second)
            gap = fair_difference(ours.runs, other.runs)
            if differs or gap.estimate is None:
                refused.append((len(differs), f"{ours.name} and {other.name}: {'; '.join([*differs, *gap.refused])}"))
            else:
                found.append(Comparison(ours, other, gap, panel.title if len(panels) > 1 else ""))
    if found:
        return Comparisons(found)
    if refused:
        told = f"{first} and {second} are not comparable in these runs. The nearest pair, {min(refused)[1]}"
        raise GottaError(f"{told}. Whole names, such as 'norm + fps', may differ in more than one part.")
    known = {name for panel in panels for entry in panel.entries for name in _names(entry)}
    for name in (first, second):
        if not any(_find(panel, name) for panel in panels):
            raise unknown("entry", name, known)
    raise GottaError(
        f"{first} and {second} are not comparable: they were not run on the same data, network and stream."
    )


def _find(panel: Panel, name: str) -> list[Entry]:
    """By the whole name, or else by that of a row or a method."""
    whole = [entry for entry in panel.entries if entry.name == name]
    return whole or [entry for entry in panel.entries if name in _names(entry)]


def _names(entry: Entry) -> tuple[str, ...]:
    row, column = entry.row, entry.column
    return row.label, row.bare, row.short, row.name, column.label, column.method


def _differs(a: Entry, b: Entry, first: str, second: str) -> list[str]:
    """What two entries differ in besides what their names say."""
    if (a.name, b.name) == (first, second):
        return []
    told = []
    by_row = a.row.plain() != b.row.plain()
    if by_row and a.column != b.column:
        told.append(f"methods {a.column.label} and {b.column.label}")
    if bool(a.row.best_rates) != bool(b.row.best_rates):
        told.append(f"rates {a.rate:g} and {b.rate:g}")
    return told
