"""The frame of a chart: scales, ticks, axes, legend. What is drawn inside is the figure's business."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from gotta.report.figures.drawing import FAINT, GRID, INK, Drawing, Line, Mark, Text, marker
from gotta.report.figures.palette import Style
from gotta.show.contact_sheet import font

CHART = 580.0  # width of a chart with lines: two stand side by side
SMALL = 11.0
LONGEST = 64  # letters of a name in a drawing; the tables have it whole
POINT = 0.5  # of accuracy: air around lines that do not move, instead of an axis of thousandths
Span = tuple[float, float]


@dataclass(frozen=True)
class Frame:
    """A rectangle of a drawing that stands for `x` in [low, high] and `y` in [low, high]."""

    left: float
    top: float
    width: float
    height: float
    x: Span
    y: Span

    def at(self, x: float, y: float) -> tuple[float, float]:
        return self.across(x), self.up(y)

    def across(self, x: float) -> float:
        return self.left + self.width * (x - self.x[0]) / (self.x[1] - self.x[0])

    def up(self, y: float) -> float:
        return self.top + self.height * (1 - (y - self.y[0]) / (self.y[1] - self.y[0]))

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def right(self) -> float:
        return self.left + self.width


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers inside [low, high], about so many.

    >>> ticks(0, 100)
    [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** floor(log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * 0.999)
    return [round(step * k, 10) for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def room(values: Sequence[float], share: float = 0.08, least: float = 1e-3) -> Span:
    """The range of the values with some air around it."""
    low, high = min(values), max(values)
    air = max((high - low) * share, least)
    return low - air, high + air


def y_axis(drawing: Drawing, frame: Frame, title: str, count: int = 5) -> None:
    """Horizontal grid lines with their values; the title stands above, where it is read without turning the head."""
    for value in ticks(*frame.y, count):
        y = frame.up(value)
        drawing.add(Line(((frame.left, y), (frame.right, y)), GRID))
        drawing.add(Text(frame.left - 6, y + 4, f"{value:g}", FAINT, SMALL, "end"))
    drawing.add(Text(frame.left, frame.top - 8, title, FAINT, SMALL))


def x_axis(drawing: Drawing, frame: Frame, title: str, marks: Sequence[tuple[float, str]]) -> None:
    """A base line with named places."""
    drawing.add(Line(((frame.left, frame.bottom), (frame.right, frame.bottom)), FAINT))
    for value, name in marks:
        middle = min(frame.across(value), drawing.width - text_width(name, SMALL) / 2)  # the last one stays inside
        drawing.add(Text(middle, frame.bottom + 16, name, FAINT, SMALL, "middle"))
    drawing.add(Text((frame.left + frame.right) / 2, frame.bottom + 33, title, FAINT, SMALL, "middle"))


def start(
    title: str,
    words: str,
    looks: dict[str, Style],
    x: Span,
    y: Span,
    height: float,
    *,
    first: Iterable[str] = (),
    left: float = 48.0,
    right: float = 12.0,
    above: float = 0.0,
    below: float = 44.0,
) -> tuple[Drawing, Frame]:
    """A chart with its legend, and the frame for its lines with room `above` and `below`; a page shows `first`."""
    drawing = Drawing(CHART, 0, title, words, first=frozenset(first))
    top = 28 + legend(drawing, looks, left) + above
    drawing.height = top + height + below
    return drawing, Frame(left, top, CHART - left - right, height, x, y)


def legend(drawing: Drawing, styles: dict[str, Style], left: float = 48.0) -> float:
    """Names with their line and marker, in as many lines as needed; the height it took."""
    top, right = 16.0, left + drawing.width - 60
    x, y = left, top
    for full, look in styles.items():
        name = clip(full)
        length = 48 + text_width(name, 12) + 14
        if x + length > right and x > left:
            x, y = left, y + 18
        drawing.legend += _key(look, x, y - 4)
        drawing.legend.append(Text(x + 46, y, name, INK, 12))
        drawing.keys[full] = _key(look, 0, 7)
        x += length
    drawing.legend_height = y - top + 18
    drawing.first = drawing.first or frozenset(styles)
    return drawing.legend_height


def _key(look: Style, x: float, y: float) -> list[Mark]:
    line = Line(((x, y), (x + 40, y)), look.colour, 2, look.dash)
    return [line, *marker(look.marker, x + 20, y, look.colour)]


def whisker(frame: Frame, x: float, low: float, high: float, colour: str) -> list[Mark]:
    """An interval as an upright line with caps."""
    found: list[Mark] = [Line((frame.at(x, low), frame.at(x, high)), colour, 1.2)]
    for y in (low, high):
        middle, level = frame.at(x, y)
        found.append(Line(((middle - 3, level), (middle + 3, level)), colour, 1.2))
    return found


def text_width(text: str, size: float) -> float:
    """An upper guess: the reader's font may be wider than the one measured here."""
    return 1.2 * float(font(round(size * 4)).getlength(text)) / 4


def clip(name: str, most: int = LONGEST) -> str:
    """The name on one line, a long one without its middle: names with many settings differ at their ends.

    >>> clip("composed allocate=all evict=nearest", 20)
    'composed all...arest'
    """
    flat = " ".join(name.split())
    ends = most - 3
    return flat if len(flat) <= most else f"{flat[: ends - ends // 3]}...{flat[-(ends // 3) :]}"
