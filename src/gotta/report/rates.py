"""Rates of running statistics in a table: which runs are at their best rate, and what their rows are called."""

from collections.abc import Iterable, Mapping, Sequence

from gotta.experiment.spec.best_rates import best_rates
from gotta.methods import methods
from gotta.report.stored_run import Run

AT_BEST = ", at its best rate"


def find_best(run: Run) -> float | None:
    """The best rate that was measured for this run's method with its memory or control."""
    return best_rates().get((run.spec.method.name, run.spec.control or run.spec.memory.name))


def is_usual(run: Run) -> bool:
    """Is it at the rate of the paper?"""
    name = run.spec.method.name
    return name in methods.names() and run.spec.method.rate == methods.get(name).paired.rate


def is_best(run: Run) -> bool:
    return run.spec.method.rate is not None and run.spec.method.rate == find_best(run)


def beside_usual(runs: Iterable[Run]) -> frozenset[str]:
    """The ids of the runs that have a row of their own, at their best rate, beside those at the rate of the paper.

    Where the rate of a table is something else, swept or chosen by hand, there are no such rows.
    """
    known = [run for run in runs if run.spec.method.rate is not None and find_best(run) is not None]
    if not all(is_usual(run) or is_best(run) for run in known):
        return frozenset()
    return frozenset(run.id for run in known if not is_usual(run))


def runs_at_best(rows: Mapping[str, Sequence[Run]]) -> dict[str, Sequence[Run]]:
    """The runs at their best rate by the name of their row at the rate of the paper, which may be the best itself."""
    found = {row: runs for row, runs in rows.items() if not at_best(row) and all(map(is_best, runs))}
    return found | {without_rate(row): runs for row, runs in rows.items() if at_best(row)}


def at_best(row: str) -> bool:
    """Is this the row of runs at their best rate?"""
    return AT_BEST in row


def without_rate(row: str) -> str:
    """The name of the same row at the rate of the paper."""
    return row.partition(AT_BEST)[0]


def told_rates(runs: Sequence[Run]) -> str:
    """The rates of one row: one number, or one for each method."""
    rates = dict.fromkeys((run.spec.method.name, run.spec.method.rate) for run in runs)
    if len({rate for _, rate in rates}) == 1:
        return f"{next(iter(rates))[1]:g}"
    return ", ".join(f"{method} {rate:g}" for method, rate in rates)
