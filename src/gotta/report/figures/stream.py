"""Accuracy over the stream, with a band for each domain; and the state of the memory over the same stream."""

from collections.abc import Sequence
from zlib import crc32

from gotta.metrics.measures import MEASURES
from gotta.report.figures import chart
from gotta.report.figures.drawing import BAND, FAINT, INK, Box, Drawing, Line, Point, Text, marker
from gotta.report.figures.figure import Figure, draws, first_lines, keep_lines
from gotta.report.figures.palette import Style, styles
from gotta.report.panel import Entry, Panel
from gotta.report.rows import NO_MEMORY, RUNNING, SAME_SAMPLES, SOURCE
from gotta.report.series import Series, Visit, series

WINDOW = 6  # values of about a hundred: some 6 % of the stream
Lines = dict[Entry, Series]


@draws("stream", position=10)
def stream_figures(panel: Panel) -> list[Figure]:
    """One figure for each method whose runs recorded their steps."""
    found = []
    for method, rows in panel.methods.items():
        bare = [panel.source] if panel.source else []
        kept, which = keep_lines([*bare, *rows.values()])
        lines = first_seed(kept)
        if any(not entry.column.is_source for entry in lines):
            found.append(_accuracy(method.label, lines, which))
    return found


@draws("diagnostics", position=20)
def diagnostics_figures(panel: Panel) -> list[Figure]:
    """The measures of the memory that have a curve, for each method with a memory."""
    found = []
    for method, rows in panel.methods.items():
        without = (NO_MEMORY, RUNNING, SAME_SAMPLES)
        held = (entry for row, entry in rows.items() if row.plain() not in without)
        kept, which = keep_lines(held, controls=True)
        lines = {entry: line for entry, line in first_seed(kept).items() if line.state}
        if lines:
            found.append(_diagnostics(method.label, lines, which))
    return found


def first_seed(entries: Sequence[Entry]) -> Lines:
    """Each entry's run of its smallest seed, where its steps were recorded."""
    lines = {entry: series(min(entry.runs, key=lambda run: (run.seed, run.id))) for entry in entries}
    return {entry: line for entry, line in lines.items() if len(line) > 1}


def _name_line(entry: Entry) -> str:
    return SOURCE if entry.column.is_source else entry.row.label


def _looks(lines: Lines) -> dict[str, Style]:
    return styles({_name_line(one): SOURCE if one.column.is_source else one.row.name for one in lines})


def _accuracy(method: str, lines: Lines, which: str) -> Figure:
    looks = _looks(lines)
    title = f"Accuracy over the stream, {method}"
    values = [value for line in lines.values() for value in line.accuracy(WINDOW)[WINDOW - 1 :] or [0.0]]
    total = max(line.at[-1] for line in lines.values())
    visits = _visits(lines)
    above = max((chart.text_width(_name(visit), 10) for visit in visits), default=0.0)
    words, first = f"One line for each of {', '.join(looks)}.", map(_name_line, first_lines(list(lines)))
    spans = (0.0, total), chart.room(values, least=chart.POINT)
    drawing, frame = chart.start(title, words, looks, *spans, 260, first=first, above=above)
    _bands(drawing, frame, visits)
    _names(drawing, frame, visits)
    chart.y_axis(drawing, frame, "")
    drawing.add(Text(frame.left, frame.top - above - 8, "accuracy in %", FAINT, chart.SMALL))
    chart.x_axis(drawing, frame, "samples of the stream", [(x, f"{x:g}") for x in chart.ticks(0, total)])
    for entry, line in lines.items():
        name = _name_line(entry)
        points = list(zip(line.at, line.accuracy(WINDOW), strict=True))[WINDOW - 1 :]
        add_line(drawing, frame, name, points, looks[name])
    share = f"{100 * WINDOW / max(len(line) for line in lines.values()):.0f} %"
    caption = f"Mean over the last {share} of the stream; first seed; bands are domains in their order."
    return Figure(title, caption + which, drawing, method)


def _diagnostics(method: str, lines: Lines, which: str) -> Figure:
    looks = _looks(lines)
    title = f"The memory over the stream, {method}"
    measured = [name for name in MEASURES if any(name in line.state for line in lines.values())]
    first = frozenset(map(_name_line, first_lines(list(lines))))
    drawing = Drawing(chart.CHART, 0, title, f"Lines for {', '.join(looks)}.", first=first)
    top, height, across = 20 + chart.legend(drawing, looks), 150.0, chart.CHART / 2
    drawing.height = top + (len(measured) + 1) // 2 * (height + 70)
    total = max(line.at[-1] for line in lines.values())
    for k, name in enumerate(measured):
        values = [v for line in lines.values() for v in line.state.get(name, ()) if v is not None]
        if max(values) == min(values):  # no air of a thousandth around a line that does not move
            values = [0.0, 1.0, *values]
        place = 48 + (k % 2) * across, top + 34 + (k // 2) * (height + 70)
        frame = chart.Frame(*place, across - 62, height, (0, total), chart.room(values, 0.05))
        _bands(drawing, frame, _visits(lines))
        chart.y_axis(drawing, frame, "", 4)
        what, _, meaning = MEASURES[name].curve.partition(": ")
        drawing.add(Text(frame.left, frame.top - 21, what, INK, chart.SMALL))
        drawing.add(Text(frame.left, frame.top - 8, meaning, FAINT, 10))
        chart.x_axis(drawing, frame, "", [(x, f"{x:g}") for x in chart.ticks(0, total, 4)])
        for entry, line in lines.items():
            row = _name_line(entry)
            known = [(x, y) for x, y in zip(line.at, line.state.get(name, ()), strict=False) if y is not None]
            add_line(drawing, frame, row, known, looks[row])
    caption = "After each step, first seed, over the samples of the stream; alternating bands are domains."
    return Figure(title, caption + which, drawing, method)


def add_line(drawing: Drawing, frame: chart.Frame, name: str, values: Sequence[Point], look: Style) -> None:
    """A line with some of its markers."""
    points = tuple(frame.at(x, y) for x, y in values)
    if len(points) < 2:
        return
    drawing.add(Line(points, look.colour, 1.8, look.dash), line=name)
    apart = max(1, len(points) // 4)
    # not all lines have markers at the same places, where they would hide one another
    for k in range(2 + crc32(repr(look).encode()) % apart, len(points), apart):
        drawing.add(*marker(look.marker, *points[k], look.colour, 3.5), line=name)


def _bands(drawing: Drawing, frame: chart.Frame, visits: Sequence[Visit]) -> None:
    for k, visit in enumerate(visits):
        left, right = frame.across(visit.start), frame.across(min(visit.end, frame.x[1]))
        if k % 2 == 0:
            drawing.add(Box(left, frame.top, right - left, frame.height, BAND))


def _names(drawing: Drawing, frame: chart.Frame, visits: Sequence[Visit]) -> None:
    """Above the bands, where no line crosses them."""
    for visit in visits:
        left, right = frame.across(visit.start), frame.across(visit.end)
        if right - left >= 12:
            middle = (left + right) / 2 + 4
            drawing.add(Text(middle, frame.top - 4, _name(visit), FAINT, 10, "start", upright=True))


def _name(visit: Visit) -> str:
    return chart.clip(visit.name.replace("_", " "), 24)


def _visits(lines: Lines) -> Sequence[Visit]:
    found = {line.visits for line in lines.values()}
    names = {tuple(visit.name for visit in visits) for visits in found}
    return next(iter(found)) if len(names) == 1 else ()
