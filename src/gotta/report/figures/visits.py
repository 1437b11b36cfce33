"""Error at each visit, where a stream comes back to its domains."""

from gotta.report.cells import measure
from gotta.report.figures.figure import Figure, best_rows, draws
from gotta.report.figures.scaling import Curves, draw_curves
from gotta.report.panel import Panel
from gotta.report.tables.visits import at_visit, errors_by_visit


@draws("visits", position=15)
def visit_figures(panel: Panel) -> list[Figure]:
    """For each method whose stream recurs."""
    found = []
    for method, rows in panel.methods.items():
        kept, which = best_rows(rows)
        curves: Curves = {}
        for row, entry in kept.items():
            visits = range(max(len(errors_by_visit(run)) for run in entry.runs))
            if len(visits) > 1:
                curves[row] = {float(k + 1): measure(entry.runs, at_visit(k)) for k in visits}
        if curves:
            words = _words(curves)
            found.append(
                draw_curves(method, "Error at each visit", "visit to all domains", curves, "error in %", words, which)
            )
    return found


def _words(curves: Curves) -> str:
    told = []
    for row, curve in curves.items():
        first, *_, last = (cell.number for cell in curve.values())
        told.append(f"{row.label} goes from {first} to {last}")
    return "; ".join(told) + "."
