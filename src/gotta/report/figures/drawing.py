"""A picture as a list of marks, before anybody decides whether it becomes SVG or pixels."""

from collections.abc import Sequence
from dataclasses import dataclass, field

# Colours that follow the page between light and dark; any other colour is written as it is.
INK, FAINT, GRID, PAPER, BAND = "ink", "faint", "grid", "paper", "band"
LIGHT = {INK: "#1d1f24", FAINT: "#60646c", GRID: "#d9dce1", PAPER: "#ffffff", BAND: "#f1f2f5"}
DARK = {INK: "#e8eaee", FAINT: "#a3a8b2", GRID: "#3a3f48", PAPER: "#15171b", BAND: "#1f2228"}
Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    points: tuple[Point, ...]
    colour: str = INK
    width: float = 1.0
    dash: tuple[int, ...] = ()


@dataclass(frozen=True)
class Box:
    """A filled rectangle, with an outline in the colour `border` if that is given."""

    x: float
    y: float
    width: float
    height: float
    colour: str = BAND
    border: str = ""
    opacity: float = 1.0


@dataclass(frozen=True)
class Shape:
    """A filled polygon."""

    points: tuple[Point, ...]
    colour: str


@dataclass(frozen=True)
class Text:
    """`anchor` is start, middle or end; `upright` is read from below to above."""

    x: float
    y: float
    text: str
    colour: str = INK
    size: float = 12
    anchor: str = "start"
    bold: bool = False
    upright: bool = False


Mark = Line | Box | Shape | Text


@dataclass
class Drawing:
    """`title` and `words` are for a reader who cannot see the picture.

    Marks can belong to a line of a chart (`add(..., line=name)`); `keys` are its lines with their legend, which takes
    the top `legend_height` and is left out by a page that has one of its own; of many lines a page shows `first`.
    """

    width: float
    height: float
    title: str
    words: str = ""
    marks: list[Mark] = field(default_factory=list)
    lines: list[tuple[str, list[Mark]]] = field(default_factory=list)  # drawn over the other marks
    keys: dict[str, list[Mark]] = field(default_factory=dict)
    legend: list[Mark] = field(default_factory=list)
    legend_height: float = 0.0
    first: frozenset[str] = frozenset()

    def add(self, *marks: Mark, line: str = "") -> None:
        if not line:
            self.marks += marks
        elif self.lines and self.lines[-1][0] == line:
            self.lines[-1][1].extend(marks)
        else:
            self.lines.append((line, list(marks)))

    @property
    def ordered_keys(self) -> list[tuple[str, list[Mark]]]:
        """The lines that are shown first, then the others."""
        return sorted(self.keys.items(), key=lambda key: key[0] not in self.first)

    @property
    def all_marks(self) -> list[Mark]:
        return [*self.marks, *(mark for _, marks in self.lines for mark in marks), *self.legend]


def marker(kind: str, x: float, y: float, colour: str, size: float = 4) -> list[Mark]:
    """A marker of about `size` to each side. Shapes are polygons, so that both back ends draw them alike."""
    if kind in STROKES:
        ends = [(a * size, b * size) for a, b in STROKES[kind]]
        return [Line(((x - a, y - b), (x + a, y + b)), colour, 2) for a, b in ends]
    name = kind.removeprefix("open ")
    filled = _shape(name, x, y, colour, size)
    return [filled] if name == kind else [filled, _shape(name, x, y, PAPER, 0.5 * size)]


def _shape(name: str, x: float, y: float, colour: str, size: float) -> Shape:
    return Shape(tuple((x + size * a, y + size * b) for a, b in OUTLINES[name]), colour)


def _regular(corners: int, inner: float = 1.0, outer: float = 1.0) -> list[Point]:
    from math import cos, pi, sin

    radii = [outer, inner] * corners if inner != 1.0 else [outer] * corners
    angles = [2 * pi * k / len(radii) - pi / 2 for k in range(len(radii))]
    return [(round(r * cos(a), 3), round(r * sin(a), 3)) for r, a in zip(radii, angles, strict=True)]


STROKES: dict[str, Sequence[Point]] = {
    "cross": [(1, 1), (1, -1)],
    "plus": [(1.2, 0), (0, 1.2)],
    "asterisk": [(1.2, 0), (0.6, 1.04), (0.6, -1.04)],
}
OUTLINES: dict[str, Sequence[Point]] = {
    "circle": _regular(16),
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "diamond": _regular(4, outer=1.3),
    "triangle": _regular(3, outer=1.35),
    "down": [(-1.0, -0.8), (1.0, -0.8), (0.0, 0.9)],
    "up": [(-1.0, 0.8), (1.0, 0.8), (0.0, -0.9)],
    "star": _regular(5, inner=0.62, outer=1.5),
    "hourglass": [(-1.0, -1.1), (1.0, -1.1), (-1.0, 1.1), (1.0, 1.1)],
    "bow": [(-1.1, -1.0), (-1.1, 1.0), (1.1, -1.0), (1.1, 1.0)],
    "tall": [(-0.6, -1.4), (0.6, -1.4), (0.6, 1.4), (-0.6, 1.4)],
}
