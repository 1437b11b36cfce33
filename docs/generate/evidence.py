"""Where a memory or a method won and lost, from stored runs: paired differences at 95 %, as in every report."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gotta.report.pairs import Difference, difference, fair_difference
from gotta.report.panel import Entry, Panel
from gotta.report.rows import NO_MEMORY, RUNNING
from gotta.report.statistics import Estimate
from gotta.report.stored_run import Run
from gotta.safe_text import tell_number

SHOWN = 3  # of the largest gains, and of the largest losses


@dataclass(frozen=True)
class Case:
    """One comparison: in which set-up, with what beside it, and what came out."""

    where: str
    beside: str
    gap: Estimate

    @property
    def points(self) -> float:
        return self.gap.mean


def memory_cases(panels: Iterable[Panel]) -> dict[str, list[Case]]:
    """Memory -> its gains over running statistics without a memory, in steps of the same size."""
    cases: dict[str, list[Case]] = {}
    for panel in panels:
        for entry in panel.entries:
            control = panel.cells.get((RUNNING, entry.column))
            if entry.row.is_memory and control:
                found = fair_difference(entry.runs, control.runs)
                add(cases, entry.row.name, entry, entry.column.label, found)
    return cases


def method_cases(panels: Iterable[Panel]) -> dict[str, list[Case]]:
    """Method -> its gains over the source model, with each memory and without."""
    cases: dict[str, list[Case]] = {}
    for panel in panels:
        for entry in panel.entries:
            if panel.source and not (entry.row.is_control or entry.column.is_source):
                beside = "no memory" if entry.row == NO_MEMORY else entry.row.label
                add(cases, entry.column.method, entry, beside, difference(entry.runs, panel.source.runs))
    return cases


def add(cases: dict[str, list[Case]], name: str, entry: Entry, beside: str, found: Difference) -> None:
    if found.estimate is not None and found.verdict is not None:
        cases.setdefault(name, []).append(Case(where(entry.runs[0]), beside, found.estimate))


def where(run: Run) -> str:
    """The set-up of a run in a few words."""
    spec, order = run.spec, run.spec.stream["order"]
    gamma = f" {spec.stream['gamma']:g}" if order == "dirichlet" else ""
    rows = f", {spec.memory.capacity} rows" if spec.memory.capacity else ""
    reset = "continual" if spec.regime.reset == "never" else f"reset {spec.regime.reset}"
    return f"{spec.data.name}, {spec.model.name}, {order}{gamma}, {reset}{rows}"


def tell(cases: Sequence[Case], against: str) -> list[str]:
    """A sentence with the counts, and a table of the largest gains and losses that are significant."""
    if not cases:
        return ["No stored result has this comparison yet."]
    told = sorted((case for case in cases if case.gap.verdict), key=lambda case: -case.points)
    won = [case for case in told if case.points > 0]
    lost = [case for case in told if case.points < 0]
    lines = [
        f"Against {against}, in {tell_number(len(cases), 'stored comparison')}: better in {len(won)}, "
        f"worse in {len(lost)}, not significantly different in {len(cases) - len(told)}.",
        "",
    ]
    shown = [*won[:SHOWN], *lost[-SHOWN:]]
    if shown:
        lines += ["| where | with | points of accuracy |", "|---|---|---:|"]
        lines += [f"| {case.where} | {case.beside} | {case.points:+.1f} ± {case.gap.half:.1f} |" for case in shown]
    return lines
