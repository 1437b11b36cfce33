"""Rates of running statistics in a table: which runs are at their best rate, and which at the default."""

from collections.abc import Iterable

from gotta.experiment.spec.best_rates import best_rates
from gotta.methods import methods
from gotta.report.stored_run import Run


def find_best(run: Run) -> float | None:
    """The best rate that was measured for this run's method with its memory or control."""
    return best_rates().get((run.spec.method.name, run.spec.control or run.spec.memory.name))


def is_usual(run: Run) -> bool:
    """Is it at the default rate?"""
    name = run.spec.method.name
    return name in methods.names() and run.spec.method.rate == methods.get(name).paired.rate


def is_best(run: Run) -> bool:
    return run.spec.method.rate is not None and run.spec.method.rate == find_best(run)


def beside_usual(runs: Iterable[Run]) -> frozenset[str]:
    """The ids of the runs that have a row of their own, at their best rate, beside those at the default rate.

    Where the rate of a table is something else, swept or chosen by hand, there are no such rows.
    """
    known = [run for run in runs if run.spec.method.rate is not None and find_best(run) is not None]
    if not all(is_usual(run) or is_best(run) for run in known):
        return frozenset()
    return frozenset(run.id for run in known if not is_usual(run))
