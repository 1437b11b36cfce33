"""Factor ablation: one line for each way a memory was put together; of many, one for each value of a factor."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from gotta.experiment.spec.dotted import flatten
from gotta.report.figures.chart import POINT, SMALL, Frame, clip, room, text_width, ticks
from gotta.report.figures.drawing import FAINT, GRID, INK, Drawing, Line, Text, marker
from gotta.report.figures.figure import MANY, WIDTH, Figure, draws
from gotta.report.figures.palette import style
from gotta.report.panel import Entries, Entry, Panel
from gotta.report.rows import Row, tell_settings

LINE = 22.0
ONE_BY_ONE = (
    "Mean over seeds; lines are 95 % intervals over seeds where there are several (of two seeds, half their range)."
)
BY_FACTOR = (
    "Large: the mean of all cells with this value of a factor, whatever the others are; small: each of these cells. "
    "Where small marks of all values lie alike, the factor does not matter here."
)


@dataclass(frozen=True)
class Level:
    """A line of the figure: its number, half its interval, and the cells behind it if there are several."""

    value: float
    look: str
    half: float = 0.0
    cells: tuple[float, ...] = ()


@draws("factors", position=40)
def factor_figures(panel: Panel) -> list[Figure]:
    """For each method with memories put together from parts, or run with several values of a part."""
    found = []
    for method, rows in panel.methods.items():
        assembled = [entry for entry in rows.values() if _factors(entry)]
        if len(assembled) > MANY:
            found.append(_figure(method.label, _by_factor(rows), BY_FACTOR))
        elif len(assembled) > 1:
            known = sorted(rows.values(), key=lambda entry: -entry.mean)
            lines = {_told(entry.row): _level(entry) for entry in known if entry.accuracy.value is not None}
            found.append(_figure(method.label, lines, ONE_BY_ONE))
    return found


def _level(entry: Entry) -> Level:
    return Level(entry.mean, entry.row.name, entry.accuracy.interval or 0.0)


def _told(row: Row) -> str:
    """Of a memory that is put together from parts its parts alone."""
    return tell_settings(row.settings).strip() if row.name == "composed" and row.settings else row.label


def _factors(entry: Entry) -> dict[str, object]:
    """The settings other than epsilon that say how this memory decides."""
    given = flatten(entry.runs[0].own_of_memory)
    return {name: value for name, value in given.items() if name not in ("epsilon", "refresh_every")}


def _by_factor(rows: Entries) -> dict[str, Level]:
    """A level for each value of each factor that varies, memory by memory; rows without factors as they are."""
    groups: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    lines: dict[str, Level] = {}
    for row, entry in rows.items():
        if entry.accuracy.value is None:
            continue
        if not _factors(entry):
            lines[_told(row)] = _level(entry)
        for name, value in _factors(entry).items():
            groups[row.name, name][str(value)].append(entry.mean)
    for (memory, name), values in groups.items():
        if len(values) > 1:
            for value, cells in values.items():
                row = Row("memory", memory, settings=((name, value),))
                lines[_told(row)] = Level(sum(cells) / len(cells), memory, cells=tuple(cells))
    return lines


def _figure(method: str, levels: Mapping[str, Level], caption: str) -> Figure:
    names = {row: clip(row) for row in levels}
    left = min(WIDTH * 0.5, 16 + max(text_width(name, 12) for name in names.values()))
    height = LINE * len(levels)
    ends = [end for one in levels.values() for end in (one.value - one.half, one.value + one.half, *one.cells)]
    frame = Frame(left, 20, WIDTH - left - 60, height, room(ends, least=POINT), (0, len(levels)))
    title = f"Factors of the memory, {method}"
    words = "; ".join(f"{names[row]} {level.value:.1f}" for row, level in levels.items()) + "."
    drawing = Drawing(WIDTH, height + 64, title, words)
    for value in ticks(*frame.x):
        x = frame.across(value)
        drawing.add(Line(((x, frame.top), (x, frame.bottom)), GRID))
        drawing.add(Text(x, frame.bottom + 16, f"{value:g}", FAINT, SMALL, "middle"))
    drawing.add(Text((frame.left + frame.right) / 2, frame.bottom + 34, "accuracy in %", FAINT, SMALL, "middle"))
    for k, (row, level) in enumerate(levels.items()):
        look, y = style(level.look), frame.top + LINE * (k + 0.5)
        drawing.add(Text(left - 8, y + 4, names[row], INK, 12, "end"))
        drawing.add(Line(tuple((frame.across(level.value + s * level.half), y) for s in (-1, 1)), look.colour, 1.5))
        for value in level.cells:
            drawing.add(*marker("circle", frame.across(value), y, FAINT, 2))
        drawing.add(*marker(look.marker, frame.across(level.value), y, look.colour, 6 if level.cells else 5))
        drawing.add(Text(WIDTH - 4, y + 4, f"{level.value:.1f}", INK, 12, "end"))
    return Figure(title, caption, drawing, method)
