"""Where a memory or a method won and lost, from stored runs: paired differences at 95 %, as in every report."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gotta.report.pairs import Difference, difference, fair_difference
from gotta.report.panel import CONTROLS, NONE, SOURCE, Panel, is_control
from gotta.report.stored_run import Run

SHOWN = 3  # of the largest gains, and of the largest losses
CONTROL = CONTROLS["running_statistics"]


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
            for row, runs in rows.items():
                if row != NONE and not is_control(row) and CONTROL in rows:
                    found = fair_difference(runs, rows[CONTROL])
                    add(cases, runs[0].spec.memory.name, Case(where(runs[0]), column, found))
    return cases


def method_cases(panels: Iterable[Panel]) -> dict[str, list[Case]]:
    """Method -> its gains over the source model, with each memory and without."""
    cases: dict[str, list[Case]] = {}
    for panel in panels:
        source = [run for column, _, runs in panel.filled if column == SOURCE for run in runs]
        for rows in panel.methods.values():
            for row, runs in rows.items():
                if source and not is_control(row):
                    beside = "no memory" if row == NONE else row
                    add(cases, runs[0].spec.method.name, Case(where(runs[0]), beside, difference(runs, source)))
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
    """A sentence with the counts, and a table of the largest gains and losses that can be told from chance."""
    if not cases:
        return ["No stored result has this comparison yet."]
    told = sorted((case for case in cases if case.found.distinguishable), key=lambda case: -case.points)
    won = [case for case in told if case.points > 0]
    lost = [case for case in told if case.points < 0]
    comparisons = f"{len(cases)} stored comparison" + ("s" if len(cases) > 1 else "")
    lines = [
        f"Against {against}, in {comparisons}: better in {len(won)}, worse in {len(lost)}, "
        f"not to be told in {len(cases) - len(told)}.",
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
