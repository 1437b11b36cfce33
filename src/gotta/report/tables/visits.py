"""Error at each visit of a stream that comes back to its domains: who wears out, and who learns."""

from collections.abc import Callable

from gotta.report.cells import Table, Value
from gotta.report.panel import Panel
from gotta.report.stored_run import Run
from gotta.report.tables.captions import setup_lines
from gotta.report.tables.details import HEADING, line_for_each


def visits_table(panel: Panel) -> Table:
    """Methods with memories by visits; without rows where nothing recurs."""
    most = max((len(errors_by_visit(run)) for run in panel.runs), default=0)
    if most < 2:
        return Table("Error (%) per visit", HEADING, (), ())
    columns: dict[str, tuple[Value, int]] = {f"visit {k + 1}": (at_visit(k), 1) for k in range(most)}
    columns |= {"mean": (_of(lambda errors: sum(errors) / len(errors)), 1)}
    columns |= {"last - first": (_of(lambda errors: errors[-1] - errors[0]), 1)}
    caption = "Error in percent at each visit to all domains, mean over domains and seeds; a rise is wear."
    rows = line_for_each(panel, columns)
    return Table("Error (%) per visit", HEADING, tuple(columns), tuple(rows), (caption, *setup_lines(panel)))


def errors_by_visit(run: Run) -> list[float]:
    """The mean error over all domains in the first visit to them, the second, ...; nothing if each is visited once."""
    times, met = run.stream.repeats, run.summary.online.domains
    if times < 2 or not met or len(met) % times:
        return []
    size = len(met) // times
    rounds = [[domain.error for domain in met[k : k + size]] for k in range(0, len(met), size)]
    known = [[error for error in errors if error is not None] for errors in rounds]
    return [sum(errors) / len(errors) for errors in known] if all(known) else []


def at_visit(visit: int) -> Value:
    """The error at visit number `visit`, from 0 on."""
    return _of(lambda errors: errors[visit] if visit < len(errors) else None)


def _of(choose: Callable[[list[float]], float | None]) -> Value:
    return lambda run: choose(errors) if (errors := errors_by_visit(run)) else None
