"""The answer in a sentence, computed from the runs and never stronger than they are."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from gotta.experiment.store import Run
from gotta.report.gains import BASELINES
from gotta.report.pairs import Difference, difference
from gotta.report.places import SOURCE, places, settings
from gotta.report.statistics import LEVEL

NONE = "none"
CONTROL = BASELINES["running_statistics"]
USELESS = 20.0  # points: an interval so wide comes from two seeds, not from the memories


@dataclass(frozen=True)
class Finding:
    """What one method's column says. Intervals are corrected for the number of memories compared (Bonferroni)."""

    method: str
    memories: int
    best: str
    accuracy: float
    over_none: Difference
    tied: tuple[str, ...]
    over_control: Difference | None

    @property
    def helps(self) -> bool:
        """Is the best memory better than none, beyond doubt at the stated level?"""
        return (
            self.over_none.distinguishable and self.over_none.estimate is not None and self.over_none.estimate.mean > 0
        )

    @property
    def sentence(self) -> str:
        parts = [self._gain(), self._ties(), self._control()]
        return f"{self.method}: " + "; ".join(part for part in parts if part) + "."

    def _gain(self) -> str:
        gain = self.over_none.estimate
        if gain is None:
            why = f" ({self.over_none.refused[0]})" if self.over_none.refused else ""
            return f"the best memory is {self.best} at {self.accuracy:.1f} %, and cannot be compared with none{why}"
        shown = _points(self.over_none)
        if self.helps:
            return f"the best memory is {self.best}, {shown} points above no memory"
        if self.over_none.distinguishable:
            return f"no memory beats none: the best, {self.best}, is {shown} points below it"
        return (
            f"no memory can be told from none: the best, {self.best}, differs by {gain.mean:+.1f} ± {_half(gain.half)}"
        )

    def _ties(self) -> str:
        return f"not distinguishable from {', '.join(self.tied)}" if self.tied else ""

    def _control(self) -> str:
        if self.over_control is None or self.over_control.estimate is None or self.over_none.estimate is None:
            return ""
        gain, rest = self.over_none.estimate.mean, self.over_control.estimate
        if rest.distinguishable:
            side = "above" if rest.mean > 0 else "below"
            compared = f"{self.best} is {_points(self.over_control)} {side} running statistics without a memory"
        else:
            shown = f"{rest.mean:+.1f} ± {_half(rest.half)}"
            compared = f"{self.best} cannot be told from running statistics without a memory ({shown})"
        return f"{compared}, which account for {gain - rest.mean:+.1f} of {gain:+.1f}" if self.helps else compared


def findings(runs: Sequence[Run], level: float = LEVEL) -> list[Finding]:
    """One finding for each method that has a memory beside something to compare it with."""
    columns: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run, place in sorted(
        zip(runs, places(runs), strict=True), key=lambda pair: (pair[1].column_order, pair[1].row_order)
    ):
        if place.column != SOURCE:
            columns[place.column][place.row].append(run)
    return [found for column, rows in columns.items() if (found := _finding(column, rows, level)) is not None]


@dataclass(frozen=True)
class Answer:
    """What one table says about `which memory, and is it really better?`: in a sentence, by method, and how sure."""

    lead: str
    findings: tuple[Finding, ...] = ()
    uncertainty: str = ""

    def __str__(self) -> str:
        parts = [self.lead, *(finding.sentence for finding in self.findings), self.uncertainty]
        return " ".join(part for part in parts if part)


def answer(runs: Sequence[Run], level: float = LEVEL) -> Answer:
    """Computed from the runs of one table."""
    found = findings(runs, level)
    if not found:
        return Answer("No method was run both with a memory and without one, so nothing can be said about memories.")
    helped = sum(finding.helps for finding in found)
    lead = f"On {_where(runs)}, a memory is better than none for {helped} of {len(found)} methods."
    if len(found) == 1:
        lead = f"On {_where(runs)}:"
    return Answer(lead, tuple(found), _uncertainty(found, level))


def headline(runs: Sequence[Run], level: float = LEVEL) -> str:
    """The answer as one text, with its uncertainty."""
    return str(answer(runs, level))


def _finding(column: str, rows: dict[str, list[Run]], level: float) -> Finding | None:
    memories = {row: runs for row, runs in rows.items() if row != NONE and not row.startswith("control: ")}
    means = {row: mean for row, runs in memories.items() if (mean := _mean(runs)) is not None}
    if not means or NONE not in rows:
        return None
    corrected = 1 - (1 - level) / len(means)
    best = max(means, key=lambda row: means[row])
    against = {row: difference(memories[best], memories[row], corrected) for row in means if row != best}
    tied = tuple(row for row, gap in against.items() if gap.estimate is not None and not gap.distinguishable)
    control = difference(memories[best], rows[CONTROL], corrected) if CONTROL in rows else None
    over_none = difference(memories[best], rows[NONE], corrected)
    return Finding(column, len(means), best, means[best], over_none, tied, control)


def _mean(runs: Sequence[Run]) -> float | None:
    values = [run.summary.get("accuracy") for run in runs]
    numbers = [value for value in values if isinstance(value, int | float)]
    return sum(numbers) / len(numbers) if numbers else None


def _where(runs: Sequence[Run]) -> str:
    known = [settings(run) for run in runs]
    names = ("data.name", "model.name", "memory.capacity", "stream.gamma", "regime.reset")
    values = {name: list(dict.fromkeys(str(s[name]) for s in known if s.get(name) is not None)) for name in names}
    shown = {name: " and ".join(found) for name, found in values.items() if found}
    extra = [f"capacity {shown['memory.capacity']}"] if "memory.capacity" in shown else []
    extra += [f"gamma {shown['stream.gamma']}"] if "stream.gamma" in shown else []
    extra += [f"reset {shown['regime.reset']}"] if "regime.reset" in shown else []
    return f"{shown.get('data.name', 'these data')} with {shown.get('model.name', 'this model')}" + (
        f" ({', '.join(extra)})" if extra else ""
    )


def _uncertainty(found: Sequence[Finding], level: float) -> str:
    covers = {e.covers for f in found if (e := f.over_none.estimate) is not None}
    if not covers:
        return "Nothing could be compared in pairs, so there are no intervals."
    return f"Intervals at {level:.0%}, corrected for the memories compared, cover {'; or '.join(sorted(covers))}."


def _points(found: Difference) -> str:
    assert found.estimate is not None
    return f"{abs(found.estimate.mean):.1f} ± {_half(found.estimate.half)}"


def _half(half: float | None) -> str:
    if half is None:
        return "unknown"
    return f"{half:.1f}" if half <= USELESS else f"{half:.0f}, too few seeds to tell"
