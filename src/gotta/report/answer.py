"""The answer in a sentence, computed from the runs and never stronger than they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gotta.report.pairs import Difference, fair_difference
from gotta.report.panel import CONTROLS, NONE, Panel, Runs, is_memory
from gotta.report.rates import at_best, runs_at_best, told_rates
from gotta.report.statistics import LEVEL, NO_INTERVAL
from gotta.report.stored_run import Run
from gotta.report.tables.comparison import cell
from gotta.report.winner import NOBODY, SAME, Winner, find_winner, without_memory
from gotta.report.words import points, show_signed, side

CONTROL = CONTROLS["running_statistics"]
NAMED = 10  # memories that a sentence names; more are counted


@dataclass(frozen=True)
class Finding:
    """What one method's column says. Intervals are corrected for the number of memories compared (Bonferroni)."""

    method: str
    memories: int
    best: str
    accuracy: float
    over_none: Difference | None  # None if there is no row without a memory; in steps of the same size if there is one
    tied: tuple[str, ...]
    over_control: Difference | None
    rate: str  # of the best memory and of the control, where they have one
    at_best_rates: str  # what the same comparison says with each at its best rate
    covers: str  # what its intervals speak about
    compared: int  # other memories that it could be told from, or not
    steps: int | None = None  # samples per step, where the row without a memory is the control that takes the same
    ties_in_lead: bool = False  # said of all methods at once, so not again
    at_usual_rates: bool = False  # the table has the same memories at their best rates too

    @property
    def helps(self) -> bool:
        """Is the best memory better than none, beyond doubt at the stated level?"""
        gain = None if self.over_none is None else self.over_none.estimate
        return gain is not None and gain.distinguishable and gain.mean > 0

    @property
    def stands_out(self) -> bool:
        """Is the best memory better than every other one, beyond doubt?"""
        return self.memories > 1 and self.compared == self.memories - 1 and not self.tied

    @property
    def alike(self) -> bool:
        """Can the best memory be told from no other one?"""
        return self.memories > 1 and len(self.tied) == self.memories - 1

    @property
    def parts(self) -> list[str]:
        """What is said of the method, thing by thing."""
        where = "at the usual rates, " if self.at_usual_rates else ""
        parts = [where + self._gain(), self._ties(), self._control(), self.at_best_rates]
        return [part for part in parts if part]

    @property
    def sentence(self) -> str:
        return f"{self.method}: {'; '.join(self.parts)}."

    def _gain(self) -> str:
        if self.over_none is None:
            return f"the best of {self.memories} memories is {self.best} at {self.accuracy:.1f} %"
        gain = self.over_none.estimate
        if gain is None:
            why = f" ({self.over_none.refused[0]})" if self.over_none.refused else ""
            return f"the best memory is {self.best} at {self.accuracy:.1f} %, and cannot be compared with none{why}"
        shown, none = points(gain), "none" + self._in_steps
        if gain.half is None:
            over = f"{side(gain)} no memory{self._in_steps}"
            return f"the best memory is {self.best}, {shown} points {over}, in this one stream"
        if self.helps:
            return f"the best memory is {self.best}, {shown} points above no memory{self._in_steps}"
        if self.over_none.distinguishable:
            return f"no memory beats {none}: the best, {self.best}, is {shown} points below it"
        return f"no memory can be told from {none}: the best, {self.best}, differs by {show_signed(gain)}"

    @property
    def _in_steps(self) -> str:
        return "" if self.steps is None else f" in the same steps of {self.steps}"

    def _ties(self) -> str:
        if self.ties_in_lead:
            return ""
        count, others = len(self.tied), self.memories - 1
        if count > 1 and count == others:
            return f"none of the {others} others can be told from it"
        names = f"{count} of the {others} others" if count > NAMED else ", ".join(self.tied)
        return f"not distinguishable from {names}" if self.tied else ""

    def _control(self) -> str:
        if self.over_control is None or self.over_control.estimate is None:
            return ""
        rest = self.over_control.estimate
        compared = compare(self.best, self.over_control, f"running statistics without a memory{self.rate}")
        gain = None if self.over_none is None else self.over_none.estimate
        if not self.helps or gain is None:
            return compared
        return f"{compared}, which account for {gain.mean - rest.mean:+.1f} of {gain.mean:+.1f}"


def compare(ours: str, found: Difference, theirs: str) -> str:
    """A paired difference in words."""
    gap = found.estimate
    if gap is None:
        return f"{ours} and {theirs} cannot be compared ({'; '.join(found.refused[:1])})"
    if gap.mean == 0 and gap.half == 0:
        return f"{ours} is equal to {theirs} in every domain"
    if gap.distinguishable or gap.half is None:
        return f"{ours} is {points(gap)} {side(gap)} {theirs}"
    return f"{ours} cannot be told from {theirs} ({show_signed(gap)})"


def findings(panel: Panel, level: float = LEVEL) -> list[Finding]:
    """One finding for each method that has a memory beside something to compare it with: none, or another one."""
    return [found for column, rows in panel.methods.items() if (found := _finding(column, rows, level)) is not None]


@dataclass(frozen=True)
class Answer:
    """What one table says about `which memory, and is it really better?`: in a sentence, by method, and how sure."""

    lead: str
    findings: tuple[Finding, ...] = ()
    uncertainty: str = ""
    winner: Winner = NOBODY  # of the table, its margin, and what the margin is due to

    @property
    def helped(self) -> tuple[int, int]:
        """For how many methods a memory is better than none, of how many that can be compared."""
        compared = [finding for finding in self.findings if finding.over_none is not None and finding.over_none.judged]
        return sum(finding.helps for finding in compared), len(compared)

    @property
    def beside_headline(self) -> str:
        """All that is said, but for the winner's sentence."""
        return str(replace(self, winner=replace(self.winner, headline="")))

    def __str__(self) -> str:
        parts = [self.lead, *(finding.sentence for finding in self.findings), self.uncertainty, str(self.winner)]
        return " ".join(part for part in parts if part)


def answer(panel: Panel, level: float = LEVEL) -> Answer:
    """Computed from the runs of one table."""
    found = findings(panel, level)
    winner = find_winner(panel, level)
    if not found:
        told = "No method was run with two memories, or with one and without, so nothing can be said of memories."
        return Answer(told, winner=winner)
    where = _where(panel)
    result = Answer(f"On {where}:", tuple(found), _uncertainty(found, level), winner)
    helped, compared = result.helped
    baseline = any(finding.over_none is not None for finding in found)
    if len(found) == 1:
        return result if baseline else replace(result, lead=f"On {where}, without a row for no memory:")
    told = f", a memory is better than none for {helped} of {compared} methods"
    if not compared:
        told = " nothing can be told for sure" if baseline else " there is no row without a memory to compare with"
    shorter = tuple(replace(finding, ties_in_lead=all(f.alike for f in found)) for finding in found)
    return replace(result, lead=f"On {where}{told}{_which(found)}.", findings=shorter)


def _which(found: Sequence[Finding]) -> str:
    clear = [f"{finding.best} for {finding.method}" for finding in found if finding.stands_out]
    if not any(finding.compared for finding in found):
        return ""
    if all(finding.alike for finding in found):
        return "; for no method can the best memory be told from any other"
    if not clear:
        return "; for no method is one memory clearly better than all others"
    return f"; clearly better than all other memories: {', '.join(clear)}"


def overall(answers: Sequence[Answer]) -> str:
    """Several set-ups in a sentence; empty where one speaks for itself or there is nothing to count."""
    helped, compared = (sum(answer.helped[k] for answer in answers) for k in (0, 1))
    if len(answers) < 2 or compared < 2:
        return ""
    return f"Over {len(answers)} set-ups, a memory is better than none for {helped} of {compared} methods and set-ups."


def _finding(column: str, rows: Mapping[str, Runs], level: float) -> Finding | None:
    memories = {row: runs for row, runs in rows.items() if is_memory(row)}
    usual = {row: runs for row, runs in memories.items() if not at_best(row)}
    memories = usual or memories
    means = {row: mean for row, runs in memories.items() if (mean := cell(runs).value) is not None}
    if not means or (NONE not in rows and SAME not in rows and len(means) == 1):
        return None
    corrected = 1 - (1 - level) / len(means)
    best = max(means, key=lambda row: means[row])
    against = {row: fair_difference(memories[best], memories[row], corrected) for row in means if row != best}
    tied = tuple(row for row, gap in against.items() if gap.tied or f"{means[row]:.1f}" == f"{means[best]:.1f}")
    control = fair_difference(memories[best], rows[CONTROL], corrected) if CONTROL in rows else None
    baseline, steps = without_memory(rows, memories[best])
    over_none = fair_difference(memories[best], rows[baseline], corrected) if baseline in rows else None
    rate = _rate([*memories[best], *rows[CONTROL]]) if CONTROL in rows else ""
    covers = next((e.covers for gap in (over_none, control, *against.values()) if gap and (e := gap.estimate)), "")
    compared = sum(gap.judged for gap in against.values())
    return Finding(
        column,
        len(means),
        best,
        means[best],
        over_none,
        tied,
        control,
        rate,
        _at_best_rates(rows, level),
        covers,
        compared,
        steps,
        at_usual_rates=any(at_best(row) and is_memory(row) for row in rows) and bool(usual),
    )


def _rate(runs: Sequence[Run]) -> str:
    rates = {run.spec.method.rate for run in runs} - {None}
    return f" at the same rate ({rates.pop():g})" if len(rates) == 1 else ""


def _at_best_rates(rows: Mapping[str, Runs], level: float) -> str:
    """The best memory against the control, each at its best rate; nothing where the table has no such rows."""
    if not any(map(at_best, rows)):
        return ""
    found = runs_at_best(rows)
    means = {row: mean for row, runs in found.items() if is_memory(row) and (mean := cell(runs).value) is not None}
    if not means or CONTROL not in found:
        return ""
    best = max(means, key=lambda row: means[row])
    gap = fair_difference(found[best], found[CONTROL], 1 - (1 - level) / len(means))
    ours, theirs = (told_rates(found[row]) for row in (best, CONTROL))
    told = compare(f"{best} ({ours})", gap, f"running statistics without a memory ({theirs})")
    lower = [row for row in (best, CONTROL) if _is_lower(found[row], rows.get(row, ()))]
    names = " and ".join("running statistics" if row == CONTROL else row for row in lower)
    elsewhere = f" (these rates were best on other images; here {names} have more at the usual rate)" if lower else ""
    return f"each at its best rate, {told}{elsewhere}"


def _is_lower(runs: Sequence[Run], other: Sequence[Run]) -> bool:
    ours, theirs = cell(runs).value, cell(other).value if other else None
    return ours is not None and theirs is not None and ours < theirs


def _where(panel: Panel) -> str:
    known = [run.settings for run in panel.runs]
    names = ("data.name", "model.name", "memory.capacity", "stream.gamma", "regime.reset")
    values = {name: list(dict.fromkeys(str(s[name]) for s in known if s.get(name) is not None)) for name in names}
    shown = {name: " and ".join(found) for name, found in values.items() if found}
    if {run.stream.order for run in panel.runs} == {"iid"}:  # which has no gamma
        shown.pop("stream.gamma", None)
    extra = [f"{name.split('.')[-1]} {shown[name]}" for name in names[2:] if name in shown]
    return f"{shown['data.name']} with {shown['model.name']}" + (f" ({', '.join(extra)})" if extra else "")


def _uncertainty(found: Sequence[Finding], level: float) -> str:
    covers = {finding.covers for finding in found if finding.covers}
    if not covers:
        return "Nothing could be compared in pairs, so there are no intervals."
    without = {text for text in covers if text.startswith(NO_INTERVAL)}
    there = "; or ".join(sorted(covers - without))
    told = [f"Intervals at {level:.0%}, corrected for the memories compared, cover {there}."] if there else []
    return " ".join([*told, *(f"{text.capitalize()}." for text in sorted(without))])
