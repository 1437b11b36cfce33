"""The headline of a table: what is best in it, by how much, and what the margin is due to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gotta.report.pairs import Difference, difference, fair_difference, samples_per_step
from gotta.report.panel import CONTROLS, LEVELS, NONE, SOURCE, Panel, cell_name, is_control, is_memory, is_source
from gotta.report.rates import at_best, runs_at_best, told_rates
from gotta.report.statistics import LEVEL, Estimate
from gotta.report.stored_run import Run
from gotta.report.tables.cells import Cell
from gotta.report.tables.comparison import cell as measure
from gotta.report.words import points, show_signed, side

CONTROL = CONTROLS["running_statistics"]
SAME = CONTROLS["same_samples"]
UNTRAINED = ("norm", "deskew")  # with the same statistics and prior they predict alike
NAMED = 3  # rivals that the sentence names; more are counted
Runs = Sequence[Run]


@dataclass(frozen=True, eq=False)
class Entry:
    """A cell of the table with its number, as the table shows it."""

    column: str
    row: str
    runs: Runs
    cell: Cell

    @property
    def mean(self) -> float:
        assert self.cell.value is not None
        return self.cell.value

    @property
    def name(self) -> str:
        return cell_name(self.column, self.row)

    @property
    def shown(self) -> str:
        return f"{self.cell.number} %"


@dataclass(frozen=True, eq=False)
class Winner:
    """`headline` is one sentence, `notes` are what stands beside it; `first` are the cells with the highest number."""

    headline: str = ""
    notes: tuple[str, ...] = ()
    first: tuple[Entry, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.headline, *self.notes]).strip()


NOBODY = Winner()


def find_winner(panel: Panel, level: float = LEVEL) -> Winner:
    """From the numbers of the table of accuracy, to the precision that it shows."""
    entries = contestants(panel)
    if not entries:
        return _without_contest(panel)
    best = max(entries, key=lambda entry: entry.mean)
    first = tuple(entry for entry in entries if entry.cell.number == best.cell.number)
    subject = "it" if len(first) == 1 else best.name
    margin = _margin(panel, best, subject, entries, level)
    below = "" if margin.endswith("below the source model") else _below_source(panel, best)
    text = "; ".join(part for part in (_rank(best, first, entries, level), margin, below) if part)
    notes = [_told_without_prior(best, entries), _told_above(panel, best)]
    # as in the table, where nothing is corrected for being many
    notes += [f"Intervals at {level:.0%}, each for itself."] if "±" in text else []
    return Winner(f"{text}.", tuple(note for note in notes if note), first)


def contestants(panel: Panel) -> list[Entry]:
    """All that is ranked: no controls, not the source model, and nothing that has no effect."""
    return [
        entry
        for entry in _all_entries(panel)
        if not is_control(entry.row) and not is_source(entry.column) and not entry.cell.no_effect
    ]


def without_memory(rows: Mapping[str, Runs], memory: Runs) -> tuple[str, int | None]:
    """The row to compare a memory with, and the samples per step if it is the control that takes as many as the memory.

    A row that takes other steps would say what the size of a step does, so the control goes before it.
    """
    steps = samples_per_step(memory)
    fair = NONE in rows and samples_per_step(rows[NONE]) == steps
    if not fair and SAME in rows and samples_per_step(rows[SAME]) == steps:
        return SAME, steps[0]
    return NONE, None


def _all_entries(panel: Panel) -> list[Entry]:
    cells = ((column, row, runs, measure(runs)) for column, row, runs in panel.filled)
    return [Entry(*found) for found in cells if found[-1].value is not None]


def _without_contest(panel: Panel) -> Winner:
    """There are controls or the source model at most."""
    known = _all_entries(panel)
    if not known:
        return NOBODY
    told = _list([f"{entry.name} at {entry.shown}" for entry in known])
    return Winner(f"There is nothing to choose from: only {told} {'were' if len(known) > 1 else 'was'} run.")


def _rank(best: Entry, first: Sequence[Entry], entries: Sequence[Entry], level: float) -> str:
    """Who leads, and whether that is sure."""
    if len(entries) == 1:
        return f"The only entry is {best.name}, at {best.shown}"
    others = [entry for entry in entries if entry not in first]
    gaps = {entry.name: fair_difference(best.runs, entry.runs, level) for entry in others}
    tied = [name for name, gap in gaps.items() if gap.tied]
    second = max(others, key=lambda entry: entry.mean, default=best)
    if len(first) > NAMED:
        lead = f"Equal first are {len(first)} of {len(entries)}, at {best.shown}"
    elif len(first) > 1:
        lead = f"Equal first of {len(entries)} are {_list([entry.name for entry in first])}, at {best.shown}"
    elif not tied and gaps[second.name].distinguishable:
        return f"The best of {len(entries)} is {best.name}, at {best.shown}"
    else:
        lead = f"The highest of {len(entries)} is {best.name}, at {best.shown}"
    if tied:
        whom = "any other" if len(tied) == len(others) > NAMED else _list(tied, "others")
        return f"{lead}, but {'they' if len(first) > 1 else 'it'} cannot be told from {whom}"
    unsure = any(gap.estimate is not None and gap.estimate.half is None for gap in gaps.values())
    return f"{lead}, in this one stream" if unsure else lead


def _margin(panel: Panel, best: Entry, subject: str, entries: Sequence[Entry], level: float) -> str:
    """Over the control if there is one, else over the source model, else over the next; and what it is due to."""
    found = _control(panel, best)
    if found is None:
        return _over_others(panel, best, subject, entries, level)
    control, name = found
    gap = fair_difference(best.runs, control, level)
    if gap.estimate is None:
        return f"there is no verdict against {name} ({'; '.join(gap.refused[:1])})"
    return f"{subject} is {_apart(gap, gap.estimate)} {name}{_cause(panel, best, control, gap, level)}"


def _over_others(panel: Panel, best: Entry, subject: str, entries: Sequence[Entry], level: float) -> str:
    source = panel.cells.get((NONE, SOURCE), ())
    gap = difference(best.runs, source, level) if source else None
    if gap is not None and gap.estimate is not None:
        return f"{subject} is {_apart(gap, gap.estimate)} the source model{_added_by_memory(panel, best, level)}"
    alike = [entry for entry in entries if entry.runs[0].prior == best.runs[0].prior]  # no gain is taken across a prior
    rivals = [entry for entry in alike if _above(best, entry)]
    second = max(rivals, key=lambda entry: entry.mean, default=best)
    gap = fair_difference(best.runs, second.runs, level)
    if gap.tied:  # which the rank has said
        return _added_by_memory(panel, best, level).removeprefix("; ")
    if gap.estimate is None:
        return f"the next is {second.name}, at {second.shown}"
    return f"{subject} is {_apart(gap, gap.estimate)} the next, {second.name}{_added_by_memory(panel, best, level)}"


def _below_source(panel: Panel, best: Entry) -> str:
    """The source model is not ranked, so it is said if nothing reaches it."""
    above = [entry for entry in _all_entries(panel) if is_source(entry.column) and _above(entry, best)]
    source = max(above, key=lambda entry: entry.mean, default=None)
    return "" if source is None else f"nothing reaches {source.name}, at {source.shown}"


def _above(entry: Entry, other: Entry) -> bool:
    """To the precision that is shown."""
    return float(entry.cell.number) > float(other.cell.number)


def _told_without_prior(best: Entry, entries: Sequence[Entry]) -> str:
    """With a prior predictions use the order of samples, so the best of those that do not is named beside it."""
    bare = [entry for entry in entries if entry.runs[0].prior == "none"]
    if not bare or best.runs[0].prior == "none":
        return ""
    second = max(bare, key=lambda entry: entry.mean)
    return f"Best without a prior: {second.name} at {second.shown}."


def _told_above(panel: Panel, best: Entry) -> str:
    """Controls are not ranked; a reader who sees a higher number is told."""
    above = [entry for entry in _all_entries(panel) if is_control(entry.row) and _above(entry, best)]
    above.sort(key=lambda entry: -entry.mean)
    named = [f"{entry.name} at {entry.shown}" for entry in above]
    return f"Higher, but only there to compare with: {_list(named, 'controls')}." if above else ""


def _control(panel: Panel, best: Entry) -> tuple[Runs, str] | None:
    """Running statistics of the winner's own column, or else the best of the others."""
    if own := _best_control(panel.methods.get(best.column, {})):
        return own[0], f"running statistics without a memory, {own[1]}"
    known = [(column, *found) for column, rows in panel.methods.items() if (found := _best_control(rows))]
    plain = [found for found in known if found[1][0].prior == "none"] or known
    if not plain:
        return None
    column, runs, rate = max(plain, key=lambda found: _height(found[1:]))
    return runs, f"running statistics of {column} without a memory, {rate}"


def _best_control(rows: Mapping[str, Runs]) -> tuple[Runs, str] | None:
    """At the usual rate or at the best one, which was chosen elsewhere: whichever is higher here."""
    known = []
    if CONTROL in rows:
        rates = {run.spec.method.rate for run in rows[CONTROL]} - {None}
        known.append((rows[CONTROL], f"at rate {told_rates(rows[CONTROL])}" if rates else "at their usual rate"))
    chosen = runs_at_best(rows).get(CONTROL) if any(map(at_best, rows)) else None
    if chosen:
        known.append((chosen, f"at their best rate ({told_rates(chosen)})"))
    return max(known, key=_height, default=None)


def _height(found: tuple[Runs, str]) -> float:
    return measure(found[0]).value or 0.0


def _cause(panel: Panel, best: Entry, control: Runs, gap: Difference, level: float) -> str:
    """What the margin over the control is due to, as far as the table can tell."""
    if best.runs[0].prior != "none":
        return _parts(panel, best, control, level)
    if best.runs[0].spec.method.name != "norm":
        return _added_by_memory(panel, best, level)
    what = "the memory" if is_memory(best.row) else best.row if best.row in LEVELS else ""
    if not what or gap.estimate is None or gap.estimate.mean <= 0:
        return ""
    if gap.tied:
        return f", so nothing that {what} adds can be told"
    return f", which is what {what} {'add' if best.row in LEVELS else 'adds'}"


def _added_by_memory(panel: Panel, best: Entry, level: float) -> str:
    """What the memory adds to its own method, in steps of the same size."""
    rows = panel.methods.get(best.column, {})
    baseline, _ = without_memory(rows, best.runs)
    if not is_memory(best.row) or baseline not in rows:
        return ""
    gap = fair_difference(best.runs, rows[baseline], level)
    return "" if gap.estimate is None else f"; its memory adds {_told(gap, gap.estimate)} to {best.column}"


def _parts(panel: Panel, best: Entry, control: Runs, level: float) -> str:
    """How much of the margin comes from the statistics and how much from the prior."""
    spec = best.runs[0].spec
    alone = next((entry.runs for entry in _all_entries(panel) if _is_twin(best.runs[0], entry.runs[0])), None)
    if alone is None:
        return ""
    statistics, prior = fair_difference(alone, control, level), fair_difference(best.runs, alone, level)
    if statistics.estimate is None or prior.estimate is None:
        return ""
    kind = f"{spec.method.statistics} statistics" if spec.method.statistics else "the statistics"
    named = ((prior, prior.estimate, "the prior"), (statistics, statistics.estimate, kind))
    ordered = sorted(named, key=lambda part: -part[1].mean)
    return ": " + ", ".join(f"{_told(gap, found)} from {what}" for gap, found, what in ordered)


def _is_twin(ours: Run, other: Run) -> bool:
    """Is the other one the same without a prior?"""
    names = {ours.spec.method.name, other.spec.method.name}
    same = ("statistics", "fed_by", "rate", "arguments")
    return (
        other.prior == "none"
        and (len(names) == 1 or names <= set(UNTRAINED))
        and all(getattr(ours.spec.method, name) == getattr(other.spec.method, name) for name in same)
        and (ours.spec.memory, ours.spec.control) == (other.spec.memory, other.spec.control)
    )


def _apart(gap: Difference, found: Estimate) -> str:
    """So far above or below."""
    if found.mean == 0:
        return "equal to"
    doubt = " (cannot be told from 0)" if gap.tied else ""
    return f"{points(found)} points{doubt} {side(found)}"


def _told(gap: Difference, found: Estimate) -> str:
    return show_signed(found) + (" (cannot be told from 0)" if gap.tied else "")


def _list(names: Sequence[str], more: str = "entries") -> str:
    if len(names) > NAMED:
        return f"{len(names)} {more}"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
