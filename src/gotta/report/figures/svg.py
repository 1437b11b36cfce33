"""Drawings as SVG text: by itself, or inside a page whose style sheet colours it."""

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from gotta.report.figures.drawing import DARK, LIGHT, PAPER, Box, Drawing, Line, Mark, Shape, Text

FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"


def svg(drawing: Drawing, alone: bool = True) -> str:
    """`alone` brings its own colours for light and dark, and its legend; a page has both already, and lines by name."""
    name = quoteattr(f"{drawing.title}. {drawing.words}".strip())
    top = 0.0 if alone else drawing.legend_height
    width, height = _n(drawing.width), _n(drawing.height - top)
    size = f'viewBox="0 {_n(top)} {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={name}>'
    if alone:
        paper = f'<rect width="100%" height="100%" fill="{_colour(PAPER)}"/>'
        return head + _style() + paper + _join(drawing.all_marks) + "</svg>"
    lines = (_line(name, marks, name in drawing.first) for name, marks in drawing.lines)
    return head + _join(drawing.marks) + "".join(lines) + "</svg>"


def swatch(marks: Iterable[Mark]) -> str:
    """What a line looks like, for a legend; the name stands beside it."""
    return f'<svg viewBox="0 0 40 14" width="40" height="14" aria-hidden="true">{_join(marks)}</svg>'


def _line(name: str, marks: Iterable[Mark], shown: bool) -> str:
    off = "" if shown else ' class="off"'
    return f"<g data-line={quoteattr(name)}{off}>{_join(marks)}</g>"


def _join(marks: Iterable[Mark]) -> str:
    return "".join(map(_mark, marks))


def _style() -> str:
    light, dark = (";".join(f"--{name}:{value}" for name, value in theme.items()) for theme in (LIGHT, DARK))
    return f"<style>svg{{{light};font-family:{FONT}}}@media (prefers-color-scheme: dark){{svg{{{dark}}}}}</style>"


def _mark(mark: Mark) -> str:
    match mark:
        case Line():
            dash = f' stroke-dasharray="{" ".join(map(_n, mark.dash))}"' if mark.dash else ""
            stroke = f'fill="none" stroke="{_colour(mark.colour)}" stroke-width="{_n(mark.width)}"{dash}'
            return f'<polyline points="{_points(mark.points)}" {stroke} stroke-linejoin="round"/>'
        case Shape():
            return f'<polygon points="{_points(mark.points)}" fill="{_colour(mark.colour)}"/>'
        case Box():
            border = f' stroke="{_colour(mark.border)}"' if mark.border else ""
            border += f' fill-opacity="{_n(mark.opacity)}"' if mark.opacity != 1 else ""
            place = " ".join(f'{k}="{_n(getattr(mark, k))}"' for k in ("x", "y", "width", "height"))
            return f'<rect {place} fill="{_colour(mark.colour)}"{border}/>'
        case Text():
            extras = f' text-anchor="{mark.anchor}"' if mark.anchor != "start" else ""
            extras += ' font-weight="600"' if mark.bold else ""
            extras += f' transform="rotate(-90 {_n(mark.x)} {_n(mark.y)})"' if mark.upright else ""
            place = f'x="{_n(mark.x)}" y="{_n(mark.y)}" font-size="{_n(mark.size)}" fill="{_colour(mark.colour)}"'
            return f"<text {place}{extras}>{escape(mark.text)}</text>"


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _colour(name: str) -> str:
    return f"var(--{name})" if name in LIGHT else escape(name, {'"': "&quot;"})


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
