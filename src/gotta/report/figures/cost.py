"""Accuracy against seconds: what is on the front cannot be bettered in both."""

from collections.abc import Sequence
from itertools import product
from math import log10

from gotta.report.cells import measure, number
from gotta.report.figures import chart
from gotta.report.figures.drawing import FAINT, INK, Line, Text, marker
from gotta.report.figures.figure import Figure, draws, keep_lines
from gotta.report.figures.palette import styles
from gotta.report.panel import Entry, Panel

BoxEnds = tuple[float, float, float, float]  # left, top, right, bottom
Point = tuple[float, float, Entry]  # seconds, accuracy


@draws("cost", position=50)
def cost_figures(panel: Panel) -> list[Figure]:
    """Every cell as a point, the front as a line."""
    points, which = [], ""
    for rows in panel.methods.values():
        kept, left_out = keep_lines(rows.values(), controls=True)
        if left_out:
            which = " Of a method with many rows, the best."
        for entry in kept:
            seconds = measure(entry.runs, number("seconds")).value
            if seconds and entry.accuracy.value is not None:
                points.append((seconds, entry.accuracy.value, entry))
    return [_figure(points, which)] if len(points) > 1 else []


def front(points: Sequence[Point]) -> list[Point]:
    """The points that no other is both quicker and better than, by seconds.

    >>> front([(1, 50, "x"), (2, 40, "y"), (3, 60, "z")])
    [(1, 50, 'x'), (3, 60, 'z')]
    """
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p[0], -p[1])):
        if not best or point[1] > best[-1][1]:
            best.append(point)
    return best


def _figure(points: Sequence[Point], which: str) -> Figure:
    looks = styles({entry.row.label: entry.row.name for _, _, entry in points})
    methods = len({entry.column for _, _, entry in points})
    spans = chart.room([log10(p[0]) for p in points], 0.06, 0.05), chart.room([p[1] for p in points], 0.1, chart.POINT)
    best = front(points)
    words = "On the front: " + "; ".join(f"{entry.name} {a:.1f} % in {s:.1f} s" for s, a, entry in best) + "."
    title = "Cost against accuracy"
    drawing, frame = chart.start(title, words, looks, *spans, 280, right=22)
    chart.y_axis(drawing, frame, "accuracy in %")
    marks = [(log10(value), f"{value:g}") for value in _decades(points)]
    chart.x_axis(drawing, frame, "seconds per run (logarithmic)", marks)
    drawing.add(Line(tuple(frame.at(log10(s), a) for s, a, *_ in best), FAINT, 1.2, (4, 3)))
    for seconds, accuracy, entry in points:
        look = looks[entry.row.label]
        point = marker(look.marker, *frame.at(log10(seconds), accuracy), look.colour, 5)
        drawing.add(*point, line=entry.row.label)
    taken = [(x - 5, y - 5, x + 5, y + 5) for x, y in (frame.at(log10(s), a) for s, a, *_ in points)]
    for seconds, accuracy, entry in best:
        label = chart.clip(entry.name if methods > 1 else entry.row.short)
        text, box = _label(label, *frame.at(log10(seconds), accuracy), frame, taken)
        drawing.add(text, line=entry.row.label)
        taken.append(box)
    caption = (
        "Mean over seeds, each point a cell of the table. Dashed: the front, where nothing is both quicker and better. "
    )
    return Figure(title, f"{caption}Seconds are this machine's.{which}", drawing)


def _label(label: str, x: float, y: float, frame: chart.Frame, taken: Sequence[BoxEnds]) -> tuple[Text, BoxEnds]:
    """The text beside its point at the side, and as near, where it hides least of what is there; and what it takes."""
    width = chart.text_width(label, chart.SMALL)
    found: list[tuple[bool, int, int, BoxEnds, str]] = []  # the first entries decide
    for lift, side in product((8, -16, 22, -30, 36, 50), ("start", "end")):
        start = x + 8 if side == "start" else x - 8 - width
        box = (start, y - lift - chart.SMALL, start + width, y - lift + 2)
        beside = box[0] < frame.left or box[2] > frame.right + 20
        outside = beside or box[1] < frame.top - 4 or box[3] >= frame.bottom
        found.append((outside, sum(_meet(box, other) for other in taken), len(found), box, side))
    _, _, _, box, side = min(found)
    return Text(box[0] if side == "start" else box[2], box[3] - 2, label, INK, chart.SMALL, side), box


def _meet(a: BoxEnds, b: BoxEnds) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _decades(points: Sequence[Point]) -> list[float]:
    low, high = min(p[0] for p in points), max(p[0] for p in points)
    marks = [base * 10.0**power for power in range(-3, 7) for base in (1, 2, 5)]
    return [round(mark, 6) for mark in marks if low * 0.97 <= mark <= high * 1.03] or [round(low, 2)]
