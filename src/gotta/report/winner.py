"""The closing sentence of a table: what is best in it, by how much, and what the margin is due to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gotta.report.pairs import Difference, difference, fair_difference
from gotta.report.panel import CONTROLS, NONE, SOURCE, Panel, is_control, is_memory
from gotta.report.rates import at_best, runs_at_best, told_rates
from gotta.report.statistics import LEVEL
from gotta.report.stored_run import Run
from gotta.report.words import show_signed

CONTROL = CONTROLS["running_statistics"]
UNTRAINED = ("norm", "deskew")  # with the same statistics and prior they predict alike
NAMED = 3  # rivals that the sentence names; more are counted
Runs = Sequence[Run]


@dataclass(frozen=True, eq=False)
class Entry:
    """A cell of the table that can win."""

    column: str
    row: str
    runs: Runs
    mean: float

    @property
    def name(self) -> str:
        return self.column if self.row == NONE and self.column != "norm" else f"{self.column} + {self.row}"


def name_winner(panel: Panel, level: float = LEVEL) -> str:
    """Empty where there are no two entries to choose from."""
    entries = _entries(panel)
    if len(entries) < 2:
        return ""
    best = max(entries, key=lambda entry: entry.mean)
    gaps = {entry.name: fair_difference(best.runs, entry.runs, level) for entry in entries if entry is not best}
    tied = [name for name, gap in gaps.items() if gap.tied]
    margin = _margin(panel, best, level)
    text = f"Best of all {len(entries)}: {best.name} at {best.mean:.1f} %{_told_ties(tied)}" + (
        margin and f"; {margin}"
    )
    # as in the table, where nothing is corrected for being many
    text += f" (intervals at {level:.0%}, each for itself)" if "±" in text else ""
    return text + _told_without_prior(best, entries) + "."


def _entries(panel: Panel) -> list[Entry]:
    """All that is ranked: no controls, and not the source model."""
    return [
        Entry(column, row, runs, sum(numbers) / len(numbers))
        for column, rows in panel.methods.items()
        for row, runs in rows.items()
        if not is_control(row)
        if (numbers := [run.accuracy for run in runs if run.accuracy is not None])
    ]


def _told_without_prior(best: Entry, entries: Sequence[Entry]) -> str:
    """With a prior predictions use the order of samples, so the best of those that do not is named beside it."""
    bare = [entry for entry in entries if entry.runs[0].prior == "none"]
    if best in bare or not bare:
        return ""
    second = max(bare, key=lambda entry: entry.mean)
    return f"; best without a prior: {second.name} at {second.mean:.1f} %"


def _told_ties(tied: Sequence[str]) -> str:
    if not tied:
        return ""
    return f", not distinguishable from {', '.join(tied) if len(tied) <= NAMED else f'{len(tied)} others'}"


def _margin(panel: Panel, best: Entry, level: float) -> str:
    """Over the control if there is one, else over the source model; with its parts if the table has them."""
    found = _control(panel, best)
    if found is None:
        return _over_source(panel, best, level)
    control, name = found
    gap = fair_difference(best.runs, control, level)
    if gap.estimate is None:
        return f"no verdict against {name} ({'; '.join(gap.refused[:1])})"
    return f"{_told(gap)} over {name}{_parts(panel, best, control, level)}"


def _over_source(panel: Panel, best: Entry, level: float) -> str:
    source = panel.cells.get((NONE, SOURCE), ())
    gap = difference(best.runs, source, level) if source else None
    return "" if gap is None or gap.estimate is None else f"{_told(gap)} over the source model"


def _control(panel: Panel, best: Entry) -> tuple[Runs, str] | None:
    """Running statistics of the winner's own column or else of the first that has them, at their best rate if run."""
    columns = [best.column, *panel.methods]
    for column in columns:
        rows: Mapping[str, Runs] = panel.methods.get(column, {})
        if found := _best_control(rows):
            whose = "" if column == best.column else f" of {column}"
            return found[0], f"running statistics{whose} without a memory, {found[1]}"
    return None


def _best_control(rows: Mapping[str, Runs]) -> tuple[Runs, str] | None:
    chosen = runs_at_best(rows).get(CONTROL) if any(map(at_best, rows)) else None
    if chosen:
        return chosen, f"at their best rate ({told_rates(chosen)})"
    if CONTROL not in rows:
        return None
    rates = {run.spec.method.rate for run in rows[CONTROL]} - {None}
    return rows[CONTROL], f"at rate {told_rates(rows[CONTROL])}" if rates else "at their usual rate"


def _parts(panel: Panel, best: Entry, control: Runs, level: float) -> str:
    """How much of the margin comes from the statistics and how much from the prior; or that a memory is all of it."""
    spec = best.runs[0].spec
    if best.runs[0].prior == "none":
        return ", which is what the memory adds" if is_memory(best.row) and spec.method.name == "norm" else ""
    alone = next((entry.runs for entry in _entries(panel) if _is_twin(best.runs[0], entry.runs[0])), None)
    if alone is None:
        return ""
    statistics, prior = fair_difference(alone, control, level), fair_difference(best.runs, alone, level)
    if statistics.estimate is None or prior.estimate is None:
        return ""
    return f": {_told(statistics)} of it from {spec.method.statistics} statistics, {_told(prior)} from the prior"


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


def _told(gap: Difference) -> str:
    assert gap.estimate is not None
    return show_signed(gap.estimate) + (" (not told from 0)" if gap.tied else "")
