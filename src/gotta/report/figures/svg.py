"""Drawings as SVG text: by itself, or inside a page whose style sheet colours it."""

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from gotta.report.figures.drawing import DARK, LIGHT, PAPER, Box, Drawing, Line, Mark, Shape, Text

FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"


def svg(drawing: Drawing, alone: bool = True) -> str:
    """`alone` brings its own colours for light and dark; inside a page the page's variables are used."""
    name = quoteattr(f"{drawing.title}. {drawing.words}".strip())
    size = f'viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}"'
    if alone:
        size += f' width="{_n(drawing.width)}" height="{_n(drawing.height)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label={name}>'
    paper = f'<rect width="100%" height="100%" fill="{_colour(PAPER)}"/>' if alone else ""
    body = "".join(_mark(mark) for mark in drawing.marks)
    return head + (_style() + paper if alone else "") + body + "</svg>"


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
            return _text(mark)


def _text(mark: Text) -> str:
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
