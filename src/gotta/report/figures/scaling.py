"""Accuracy against one setting of the memory: its capacity, or epsilon with the best value starred."""

from collections.abc import Mapping

from gotta.groups import group
from gotta.report.cells import Cell, measure, number
from gotta.report.figures.chart import POINT, room, start, whisker, x_axis, y_axis
from gotta.report.figures.drawing import FAINT, Line, Text, marker
from gotta.report.figures.figure import FIRST, Figure, draws, keep_lines
from gotta.report.figures.palette import style
from gotta.report.panel import Panel
from gotta.report.rows import NO_MEMORY, Column, Row, column_of, row_of
from gotta.report.stored_run import Run
from gotta.report.tables.details import at_visit, errors_by_visit

CAPACITY, EPSILON = "memory.capacity", "memory.epsilon"
MANY_TICKS = 30
STARS = " A star marks the best of a line; one without a star is alike everywhere."
Curves = dict[Row, dict[float, Cell]]  # row: value of the setting: accuracy


@draws("capacity", position=10, across=True)
def capacity_figures(panel: Panel) -> list[Figure]:
    """For each method whose memories were run with several capacities."""
    return [
        draw_curves(method, "Accuracy by capacity of the memory", "rows in the memory", curves)
        for method, curves in _curves(panel, CAPACITY).items()
    ]


@draws("epsilon", position=30)
def epsilon_figures(panel: Panel) -> list[Figure]:
    """For each method whose diverse memories were run with several epsilons."""
    return [
        draw_curves(method, "Accuracy by epsilon", "epsilon", curves, star=True)
        for method, curves in _curves(panel, EPSILON).items()
    ]


def _curves(panel: Panel, axis: str) -> dict[Column, Curves]:
    """Method, row, value: only where a row has two values or more and all other settings are the same."""
    swept = [run for entry in panel.entries for run in entry.runs if isinstance(run.made_of.get(axis), int | float)]
    swept = [run for run in swept if not column_of(run).is_source and row_of(run) != NO_MEMORY]
    found: dict[Column, Curves] = {}
    for (method, _), alike in group(swept, lambda run: (column_of(run), _rest(run, axis))).items():
        curves: Curves = {}
        for row, members in group(alike, row_of).items():
            runs = group(members, lambda run: float(run.made_of[axis]))
            cells = {value: measure(runs[value], number("accuracy")) for value in sorted(runs)}
            known = {value: cell for value, cell in cells.items() if cell.value is not None}
            curves |= {row: known} if len(known) > 1 else {}
        if curves and len(curves) >= len(found.get(method, {})):
            found[method] = curves
    return found


def _rest(run: Run, axis: str) -> str:
    """Everything else that makes runs incomparable; the regime follows the capacity, so its sizes do not count."""
    known = run.section("data", "stream", "model", "pairing")
    other = run.made_of.get(CAPACITY if axis == EPSILON else EPSILON)
    return (
        repr(sorted((name, repr(value)) for name, value in known.items()))
        + f"{run.spec.regime.reset} {run.spec.method.rate} {other}"
    )


def draw_curves(
    method: Column,
    title: str,
    what: str,
    curves: Curves,
    scale: str = "accuracy in %",
    words: str = "",
    which: str = "",
    star: bool = False,
) -> Figure:
    """A line for each row over the values of `what`, evenly spaced. `which` names rows that are left out."""
    values = sorted({value for curve in curves.values() for value in curve})
    place = {value: k for k, value in enumerate(values)}
    cells = [cell for curve in curves.values() for cell in curve.values()]
    ends = [end for cell in cells for end in _interval(cell)]
    looks = {row.label: style(row.name) for row in curves}
    title = f"{title}, {method.label}"
    highest = {row.label: max(cell.value or 0.0 for cell in curve.values()) for row, curve in curves.items()}
    first = sorted(highest, key=lambda row: -highest[row])[:FIRST]
    spans = (-0.3, len(values) - 0.7), room(ends, least=POINT)
    drawing, frame = start(title, words or _words(curves), looks, *spans, 250, first=first)
    y_axis(drawing, frame, scale)
    x_axis(drawing, frame, what, [(k, f"{value:g}") for value, k in place.items()][:: 1 + len(values) // MANY_TICKS])
    for row, curve in curves.items():
        look, name = looks[row.label], row.label
        points = {value: frame.at(place[value], cell.value or 0.0) for value, cell in curve.items()}
        drawing.add(Line(tuple(points.values()), look.colour, 2, look.dash), line=name)
        for value, cell in curve.items():
            if cell.interval is not None:
                drawing.add(*whisker(frame, place[value], *_interval(cell), look.colour), line=name)
            drawing.add(*marker(look.marker, *points[value], look.colour), line=name)
        for value in best(curve) if star else ():
            x, y = points[value]
            drawing.add(*marker("star", x, y - 14, look.colour, 6), line=name)
            drawing.add(Text(x + 10, y - 10, curve[value].number, FAINT, 11), line=name)
    several = any(cell.seeds > 1 for cell in cells)
    caption = "Mean over seeds; whiskers are 95 % intervals over seeds." if several else "One seed."
    return Figure(title, caption + (STARS if star else "") + which, drawing, method.label)


def _interval(cell: Cell) -> tuple[float, float]:
    assert cell.value is not None
    return cell.value - (cell.interval or 0.0), cell.value + (cell.interval or 0.0)


def best(curve: Mapping[float, Cell]) -> list[float]:
    """Where a line is best, to the precision that is shown; nowhere if it is alike everywhere."""
    numbers = {value: float(cell.number) for value, cell in curve.items()}
    most = max(numbers.values())
    return [value for value, number in numbers.items() if number == most] if len(set(numbers.values())) > 1 else []


def _words(curves: Curves) -> str:
    told = []
    for row, curve in curves.items():
        places = best(curve)
        where = f"best at {' and '.join(map('{:g}'.format, places))}" if places else "alike everywhere"
        number = curve[places[0] if places else next(iter(curve))].number
        told.append(f"{row.label} is {where} with {number}")
    return "; ".join(told) + "."


@draws("visits", position=15)
def visit_figures(panel: Panel) -> list[Figure]:
    """For each method whose stream recurs."""
    found = []
    for method, rows in panel.methods.items():
        kept, which = keep_lines(rows.values(), controls=True)
        curves: Curves = {}
        for entry in kept:
            met = max(map(errors_by_visit, entry.runs), key=len)
            if met:
                curves[entry.row] = {k + 1.0: measure(entry.runs, at_visit(k)) for k in range(len(met))}
        if curves:
            ends = {row.label: (curve[1].number, curve[len(curve)].number) for row, curve in curves.items()}
            words = "; ".join(f"{name} goes from {first} to {last}" for name, (first, last) in ends.items()) + "."
            axes = "Error at each visit", "visit to all domains", curves, "error in %"
            found.append(draw_curves(method, *axes, words, which))
    return found
