"""Where a memory or a method won and lost, from stored runs: paired differences at 95 %, as in every report."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gotta.report.pairs import Difference, difference, fair_difference
from gotta.report.panel import Panel
from gotta.report.rows import NO_MEMORY, RUNNING
from gotta.report.stored_run import Run

SHOWN = 3  # of the largest gains, and of the largest losses


@dataclass(frozen=True)
class Case:
    """One comparison: in which set-up, with what beside it, and what came out."""

    where: str
    beside: str
    found: Difference

    @property
    def points(self) -> float:
        assert self.found.estimate is not None
        return self.found.estimate.mean


def memory_cases(panels: Iterable[Panel]) -> dict[str, list[Case]]:
    """Memory -> its gains over running statistics without a memory, in steps of the same size."""
    cases: dict[str, list[Case]] = {}
    for panel in panels:
        for column, rows in panel.methods.items():
            for row, entry in rows.items():
                if row.is_memory and RUNNING in rows:
                    found = fair_difference(entry.runs, rows[RUNNING].runs)
                    add(cases, row.name, Case(where(entry.runs[0]), column.label, found))
    return cases


def method_cases(panels: Iterable[Panel]) -> dict[str, list[Case]]:
    """Method -> its gains over the source model, with each memory and without."""
    cases: dict[str, list[Case]] = {}
    for panel in panels:
        for column, rows in panel.methods.items():
            for row, entry in rows.items():
                if panel.source and not row.is_control:
                    beside = "no memory" if row == NO_MEMORY else row.label
                    found = difference(entry.runs, panel.source.runs)
                    add(cases, column.method, Case(where(entry.runs[0]), beside, found))
    return cases


def add(cases: dict[str, list[Case]], name: str, case: Case) -> None:
    if case.found.judged:
        cases.setdefault(name, []).append(case)


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
    told = sorted((case for case in cases if case.found.distinguishable), key=lambda case: -case.points)
    won = [case for case in told if case.points > 0]
    lost = [case for case in told if case.points < 0]
    comparisons = f"{len(cases)} stored comparison" + ("s" if len(cases) > 1 else "")
    lines = [
        f"Against {against}, in {comparisons}: better in {len(won)}, worse in {len(lost)}, "
        f"not significantly different in {len(cases) - len(told)}.",
        "",
    ]
    shown = [*won[:SHOWN], *lost[-SHOWN:]]
    if shown:
        lines += ["| where | with | points of accuracy |", "|---|---|---:|"]
        lines += [f"| {case.where} | {case.beside} | {case.points:+.1f} ± {half(case):.1f} |" for case in shown]
    return lines


def half(case: Case) -> float:
    estimate = case.found.estimate
    assert estimate is not None
    assert estimate.half is not None
    return estimate.half
