"""What memories hold of one recorded stream, as a picture: a panel for each, the stream in grey and the rows on top."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gotta.metrics.measures import principal_plane
from gotta.report.figures.drawing import FAINT, GRID, INK, Box, Drawing, Mark, Text, marker

SIDE, TALL, GAP, HEAD, ACROSS = 240.0, 190.0, 18.0, 26.0, 4
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#c0689a", "#a97f00", "#3f97c7", "#7f7f7f")  # a class each, then again
SHAPES = ("circle", "triangle", "square", "diamond", "down", "star", "tall")
SHOWN = 1500  # samples of the stream that are drawn
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def draw_held(points: Floats, label: Ints, held: Mapping[str, Sequence[int]], names: Sequence[str] = ()) -> Drawing:
    """`points[N, D]` of the stream on their two principal components, with `label[N]`; `held` are positions by memory.

    Samples with equal points lie on one another, so a larger mark and a number tell how many of them are held.
    """
    places, (first, second) = principal_plane(points)
    rows = -(-len(held) // ACROSS)
    width = min(len(held), ACROSS) * (SIDE + GAP) + GAP
    told = f"Principal components of the stream: {first:.0%} and {second:.0%} of its variance."
    words = "; ".join(f"{name} holds {len(set(_alike(points, rows)))} different samples" for name, rows in held.items())
    drawing = Drawing(width, 44 + rows * (HEAD + TALL + GAP), "What each memory holds", f"{words}.")
    drawing.add(Text(GAP, 18, told, FAINT, 11))
    for kind, name in enumerate(names):
        x = GAP + 110.0 * kind
        drawing.add(*_mark(kind, x + 6, 32), Text(x + 16, 36, name, INK, 11))
    at = _fit(places)
    for k, (name, chosen) in enumerate(held.items()):
        left, top = GAP + k % ACROSS * (SIDE + GAP), 44 + k // ACROSS * (HEAD + TALL + GAP)
        different = len(set(_alike(points, chosen)))
        drawing.add(Text(left, top + 18, name, INK, 13, bold=True))
        drawing.add(Text(left + SIDE, top + 18, f"{len(chosen)} rows, {different} different", FAINT, 11, "end"))
        drawing.add(Box(left, top + HEAD, SIDE, TALL, "paper", GRID))
        drawing.add(*_stream(at, left, top + HEAD), *_rows(at, points, label, chosen, left, top + HEAD))
    return drawing


def _fit(places: Floats, border: float = 14.0) -> Floats:
    """Where in a panel each point goes: the same scale on both axes, centred, the second component upwards."""
    low, high = places.min(0), places.max(0)
    room = np.array([SIDE, TALL]) - 2 * border
    scale = (room / np.maximum(high - low, 1e-12)).min()
    fitted: Floats = (places - (low + high) / 2) * scale * (1, -1) + np.array([SIDE, TALL]) / 2
    return fitted


def _stream(at: Floats, left: float, top: float) -> list[Mark]:
    shown = at[:: -(-len(at) // SHOWN)]
    return [mark for x, y in shown for mark in marker("circle", left + float(x), top + float(y), GRID, 1.6)]


def _rows(at: Floats, points: Floats, label: Ints, chosen: Sequence[int], left: float, top: float) -> list[Mark]:
    marks: list[Mark] = []
    for position, count in sorted(Counter(_alike(points, chosen)).items(), key=lambda item: item[1]):
        x, y = left + float(at[position, 0]), top + float(at[position, 1])
        marks += _mark(int(label[position]), x, y, 3.5 if count == 1 else 6.5)
        marks += [Text(x, y + 3.5, str(count), "paper", 9, "middle", bold=True)] if count > 1 else []
    return marks


def _mark(kind: int, x: float, y: float, size: float = 4.0) -> list[Mark]:
    return marker(SHAPES[kind % len(SHAPES)], x, y, COLOURS[kind % len(COLOURS)], size)


def _alike(points: Floats, chosen: Sequence[int]) -> list[int]:
    """The first position with the same point, for each."""
    first: dict[bytes, int] = {}
    return [first.setdefault(points[position].tobytes(), position) for position in chosen]
