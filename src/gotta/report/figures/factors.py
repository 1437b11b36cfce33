"""Factor ablation: one line for each way a memory was put together, by accuracy."""

from collections.abc import Sequence

from gotta.experiment.store import Run
from gotta.report.cells import Cell
from gotta.report.chart import SMALL, Frame, room, shown, text_width, ticks
from gotta.report.drawing import FAINT, GRID, INK, Drawing, Line, Text, marker
from gotta.report.figures.figure import WIDTH, Figure, columns, mean, slug
from gotta.report.palette import style
from gotta.report.places import settings

ARGUMENTS = "memory.arguments."
LINE = 22.0


def factor_figures(runs: Sequence[Run]) -> list[Figure]:
    """For each method with memories put together from parts, or run with several values of a part."""
    found = []
    for method, rows in columns(runs).items():
        cells = {row: mean(group) for row, group in rows.items()}
        known = {row: cell for row, cell in cells.items() if cell.value is not None}
        if sum(_assembled(rows[row]) for row in known) > 1:
            found.append(_figure(method, known))
    return found


def _assembled(runs: Sequence[Run]) -> bool:
    """Does a setting other than epsilon say how this memory decides?"""
    given = settings(runs[0], ("memory",))
    return any(name.startswith(ARGUMENTS) and not name.endswith(".epsilon") for name in given)


def _figure(method: str, cells: dict[str, Cell]) -> Figure:
    order = sorted(cells, key=lambda row: -(cells[row].value or 0.0))
    names = {row: row.removeprefix("composed ") for row in order}
    left = min(WIDTH * 0.5, 16 + max(text_width(name, 12) for name in names.values()))
    ends = [(cells[row].value or 0.0) + s * (cells[row].interval or 0.0) for row in order for s in (-1, 1)]
    height = LINE * len(order)
    frame = Frame(left, 20, WIDTH - left - 60, height, room(ends), (0, len(order)))
    title = f"Factors of the memory, {method}"
    words = f"From best to worst: {', '.join(f'{names[row]} {cells[row].number}' for row in order)}."
    drawing = Drawing(WIDTH, height + 64, title, words)
    for value in ticks(*frame.x):
        x = frame.across(value)
        drawing.add(Line(((x, frame.top), (x, frame.bottom)), GRID))
        drawing.add(Text(x, frame.bottom + 16, shown(value), FAINT, SMALL, "middle"))
    drawing.add(Text((frame.left + frame.right) / 2, frame.bottom + 34, "accuracy in %", FAINT, SMALL, "middle"))
    for k, row in enumerate(order):
        cell, look, y = cells[row], style(row), frame.top + LINE * (k + 0.5)
        value, half = cell.value or 0.0, cell.interval or 0.0
        drawing.add(Text(left - 8, y + 4, names[row], INK, 12, "end"))
        drawing.add(Line(((frame.across(value - half), y), (frame.across(value + half), y)), look.colour, 1.5))
        drawing.add(*marker(look.marker, frame.across(value), y, look.colour, 5))
        drawing.add(Text(WIDTH - 4, y + 4, cell.number, INK, 12, "end"))
    caption = "Mean over seeds; lines are 95 % intervals over seeds where there are several."
    return Figure(f"factors-{slug(method)}", title, caption, drawing)
