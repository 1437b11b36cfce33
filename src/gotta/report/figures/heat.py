"""Where it pays: gains over tuned running statistics as heat maps over two settings of the stream."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product

from gotta.report.figures.chart import clip, text_width
from gotta.report.figures.drawing import FAINT, GRID, INK, Box, Drawing, Text
from gotta.report.figures.figure import WIDTH, Figure, draws
from gotta.report.panel import AXES, Panel, set_up_of
from gotta.report.rows import RUNNING, Column, Row, column_of, name_cell, row_of
from gotta.report.stored_run import Run, is_number

IN_WORDS = {
    "stream.run_length": "samples of a class in a row, on average",
    "stream.per_class": "images of each class per domain",
}
CAPTION = (
    "Points of accuracy above running statistics without a memory, whose rate is the best of those run on each "
    "stream; of the memory's rates the best counts too. Blue: above; orange: below; all maps have one scale."
)
ABOVE, BELOW = "#4393c3", "#d6804a"  # apart for colour-blind readers; the number says it without colour
LEFT, TALL, GAP = 52.0, 40.0, 20.0
Place = tuple[float, ...]  # the value of each axis
Scores = dict[int, float]  # accuracy by seed
Map = dict[Place, float]
Subject = tuple[Row, Column]


@draws("heat", position=5, across=True)
def heat_figures(panel: Panel) -> list[Figure]:
    """For each method with its memory, statistics and prior, where the stream was run with several values of two
    numbers or more. The first two with most values are the axes; each value of the others has a map of its own.
    """
    axes = stream_axes(panel.runs)
    if len(axes) < 2 or _other_set_ups(panel.runs, axes):
        return []
    maps = gain_maps(panel.runs, axes)
    most = max((abs(gain) for found in maps.values() for gain in found.values()), default=0.0) or 1.0
    return [_figure(subject, found, axes, most) for subject, found in maps.items()]


def stream_axes(runs: Sequence[Run]) -> list[str]:
    """The numbers of the stream that differ between runs, those with most values first."""
    values: dict[str, set[float]] = defaultdict(set)
    for run in runs:
        for name, value in run.section("stream").items():
            if is_number(value):
                values[name].add(float(value))
    varied = [name for name, found in values.items() if len(found) > 1]
    return sorted(varied, key=lambda name: -len(values[name]))


def gain_maps(runs: Sequence[Run], axes: Sequence[str]) -> dict[Subject, Map]:
    """Points above running statistics without a memory, by what has them and place.

    Of what was run with several settings, such as rates, the best on each stream counts: on both sides.
    """
    accuracy: dict[Subject, dict[Place, dict[str, Scores]]] = {}
    for run in runs:
        subject, place = (row_of(run), column_of(run)), tuple(float(run.settings.get(axis) or 0) for axis in axes)
        if run.accuracy is not None and not subject[1].is_source:
            by_settings = accuracy.setdefault(subject, {}).setdefault(place, {})
            by_settings.setdefault(repr(run.section(*AXES)), {})[run.seed] = run.accuracy
    controls = {column: found for (row, column), found in accuracy.items() if row == RUNNING}
    bare = {column.method: found for column, found in controls.items() if column.prior == "none"}
    maps = {}
    for (row, column), found in accuracy.items():
        baseline = bare.get(column.method) or next(iter(bare.values()), {})
        gains = {place: gain for place in found if (gain := _gain(found[place], baseline.get(place, {}))) is not None}
        if (row != RUNNING or column.prior != "none") and gains:
            maps[row, column] = gains
    return maps


def _gain(ours: Mapping[str, Scores], theirs: Mapping[str, Scores]) -> float | None:
    if not ours or not theirs:
        return None
    mine, base = (max(known.values(), key=lambda one: sum(one.values()) / len(one)) for known in (ours, theirs))
    seeds = mine.keys() & base.keys()
    return sum(mine[seed] - base[seed] for seed in seeds) / len(seeds) if seeds else None


def _other_set_ups(runs: Sequence[Run], axes: Sequence[str]) -> bool:
    """Do runs differ in their data, model or stream by more than the axes?"""
    rest = [{name: value for name, value in set_up_of(run).items() if name not in axes} for run in runs]
    return rest.count(rest[0]) < len(rest)


def _figure(subject: Subject, gains: Map, axes: Sequence[str], most: float) -> Figure:
    row, method = subject
    name = name_cell(method, row)
    values = [sorted({place[k] for place in gains}) for k in range(len(axes))]
    xs, ys, others = values[0], values[1][::-1], list(product(*values[2:]))
    wide = min(72.0, (WIDTH - LEFT - GAP * len(others)) / (len(others) * len(xs)))
    told = [IN_WORDS.get(axis, _short(axis)) for axis in axes[:2]]
    rows, columns = f"rows: {told[1]}", f"columns: {told[0]}"
    width = max(LEFT + len(others) * (wide * len(xs) + GAP), *(text_width(text, 11) + 40 for text in (rows, columns)))
    top = 62.0 if len(axes) > 2 else 44.0
    title = f"Gain over tuned running statistics, {name}"
    drawing = Drawing(width, top + TALL * len(ys) + 26, title, _words(gains, axes))
    drawing.add(Text(12, 16, rows, FAINT, 11), Text(12, 32, columns, FAINT, 11))
    for down, y in enumerate(ys):
        drawing.add(Text(LEFT - 8, top + TALL * (down + 0.5) + 4, f"{y:g}", INK, 12, "end"))
    for column, other in enumerate(others):
        left = LEFT + column * (wide * len(xs) + GAP)
        drawing.add(Text(left, top - 8, clip(_tell(axes[2:], other)), INK, 12, bold=True))
        for (across, x), (down, y) in product(enumerate(xs), enumerate(ys)):
            _cell(drawing, left + wide * across, top + TALL * down, wide, gains.get((x, y, *other)), most)
        for across, x in enumerate(xs):
            middle = left + wide * (across + 0.5) - 1
            drawing.add(Text(middle, top + TALL * len(ys) + 16, f"{x:g}", INK, 12, "middle"))
    order = " These predictions use the order of samples." if method.uses_order else ""
    return Figure(title, CAPTION + order, drawing, name)


def _cell(drawing: Drawing, x: float, y: float, wide: float, gain: float | None, most: float) -> None:
    """Blue above zero, orange below, through which the paper shows, so that the number can be read on any."""
    if gain is None:
        drawing.add(Box(x, y, wide - 2, TALL - 2, GRID, opacity=0.35))
        return
    shade = round(0.06 + 0.5 * abs(gain) / most, 2)
    drawing.add(Box(x, y, wide - 2, TALL - 2, ABOVE if gain >= 0 else BELOW, GRID, opacity=shade))
    drawing.add(Text(x + wide / 2 - 1, y + TALL / 2 + 4, f"{gain:+.1f}", INK, 12, "middle"))


def _words(gains: Map, axes: Sequence[str]) -> str:
    told = []
    for word, choose in (("Most", max), ("Least", min)):
        place = choose(gains, key=lambda place: gains[place])
        told.append(f"{word}: {gains[place]:+.1f} at {_tell(axes, place)}.")
    return " ".join(told)


def _tell(axes: Sequence[str], place: Sequence[float]) -> str:
    return ", ".join(f"{_short(axis)} {value:g}" for axis, value in zip(axes, place, strict=True))


def _short(axis: str) -> str:
    return axis.split(".")[-1].replace("_", " ")
