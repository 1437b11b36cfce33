"""The pictures of docs/concepts.md, as SVG: `python docs/generate/pictures.py` writes them into docs/pictures."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from gotta.data import dataset
from gotta.report.figures.drawing import FAINT, INK, PAPER, Box, Drawing, Line, Mark, Shape, Text, marker
from gotta.report.figures.svg import svg
from gotta.streams import Stream, StreamSpec

COLOURS = ("#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#bab0ac")
ACCENT = "#3f97c7"
FOLDER = Path(__file__).parents[1] / "pictures"


def draw_all() -> dict[str, str]:
    """File name -> SVG."""
    return {
        "concept-streams.svg": draw_streams(),
        "concept-statistics.svg": draw_statistics(),
        "concept-regime.svg": draw_regime(),
        "concept-pairs.svg": draw_pairs(),
    }


def draw_streams() -> str:
    """The first 150 samples of three orders of the same images, a stripe per sample in the colour of its class."""
    data = dataset("cifar10-mini")
    rows = {
        "i.i.d.": StreamSpec(order="iid", per_class=40, domains=("snow",)),
        "Dirichlet, gamma 0.1": StreamSpec(order="dirichlet", gamma=0.1, per_class=40, domains=("snow",)),
        "sorted": StreamSpec(order="sorted", per_class=40, domains=("snow",)),
    }
    parts: list[Mark] = []
    for k, (title, spec) in enumerate(rows.items()):
        parts.append(Text(10, 26 + 54 * k, title, INK, 13))
        parts += stripes(Stream(data, spec).label[:150], 10, 4.6, 32 + 54 * k, 22)
    parts.append(Text(700, 186, "time", FAINT, 13, "end"))
    return picture(710, 194, "Three orders of the same images", parts)


def stripes(labels: Iterable[int], left: float, wide: float, top: float, tall: float) -> list[Mark]:
    """A stripe for each run of a class in its colour, each sample so wide."""
    pieces: list[Mark] = []
    begin = 0
    for label, run in groupby(labels):
        length = len(list(run))
        pieces.append(Box(left + wide * begin, top, wide * length, tall, COLOURS[label]))
        begin += length
    return pieces


def draw_statistics() -> str:
    """Where the mean and variance of a prediction come from."""
    parts: list[Mark] = []
    rows = [
        ("source", ("training images",), "stays as it was trained"),
        ("batch", ("this batch",), "fails where a batch shows one class"),
        ("running, fed by the batch", ("this batch", "moving average"), "no memory is needed"),
        ("running, fed by the memory", ("this batch", "memory", "moving average"), "the memory chooses what counts"),
    ]
    for k, (name, boxes, words) in enumerate(rows):
        y = 20 + 58 * k
        parts.append(Text(10, y + 20, name, INK, 13, bold=True))
        parts.append(Text(10, y + 36, words, FAINT, 11))
        chain = [*boxes, "BatchNorm"]
        left = 720 - 125 * len(chain)
        for j, box in enumerate(chain):
            x = left + 125 * j
            parts += boxed(x, y, 104, 36, box, ACCENT if box in ("memory", "moving average") else FAINT)
            if j + 1 < len(chain):
                parts += arrow(x + 106, y + 18, x + 123, y + 18)
    return picture(720, 250, "Where the statistics of a prediction come from", parts)


def draw_regime() -> str:
    """Samples along time, cut into steps, with an adaptation after each."""
    parts: list[Mark] = []
    for k, (name, size) in enumerate((("no memory: steps of 64", 64), ("memory of 32 rows: steps of 32", 32))):
        y = 20 + 70 * k
        parts.append(Text(10, y + 4, name, INK, 13))
        for step in range(256 // size):
            x = 10 + step * size * 2.7
            parts.append(Box(x, y + 12, size * 2.7 - 3, 22, ACCENT, opacity=0.25))
            parts.append(Text(x + size * 1.35, y + 27, f"predict {size}", INK, 11, "middle"))
            parts.append(Text(x + size * 2.7 - 1, y + 48, "▲ adapt", ACCENT, 11, "end"))
    return picture(710, 150, "The regime steps_of_M", parts)


def draw_pairs() -> str:
    """Accuracies of two memories in six domains: far apart between domains, alike in their difference."""
    first, gap = (150, 95, 130, 60, 110, 78), (9, 12, 8, 11, 10, 13)
    parts: list[Mark] = [Text(10, 22, "accuracy in each domain", INK, 13), Text(480, 22, "difference", INK, 13)]
    for k, (y, rise) in enumerate(zip(first, gap, strict=True)):
        x = 40 + 70 * k
        parts += [Line(((x, y), (x, y - rise)), FAINT), *dot(x, y, COLOURS[0]), *dot(x, y - rise, COLOURS[1])]
        parts += [*dot(500 + 30 * k, 150 - 4.2 * rise, INK), Text(x, 182, f"domain {k + 1}", FAINT, 11, "middle")]
    for y, word in ((106, "mean"), (150, "zero")):
        parts += [Line(((480, y), (680, y)), FAINT), Text(684, y + 4, word, FAINT, 11)]
    return picture(730, 192, "Paired differences", parts)


def picture(width: float, height: float, title: str, marks: list[Mark]) -> str:
    """It follows the reader between light and dark."""
    drawing = Drawing(width, height, title)
    drawing.add(*marks)
    return svg(drawing) + "\n"


def boxed(x: float, y: float, width: float, height: float, words: str, colour: str) -> list[Mark]:
    return [Box(x, y, width, height, PAPER, colour), Text(x + width / 2, y + 23, words, INK, 12, "middle")]


def dot(x: float, y: float, colour: str) -> list[Mark]:
    return marker("circle", x, y, colour)


def arrow(x: float, y: float, to_x: float, to_y: float) -> list[Mark]:
    head = Shape(((to_x, to_y), (to_x - 6, to_y - 4), (to_x - 6, to_y + 4)), INK)
    return [Line(((x, y), (to_x - 5, to_y)), INK), head]


if __name__ == "__main__":
    for name, picture in draw_all().items():
        (FOLDER / name).write_text(picture, encoding="utf-8")
