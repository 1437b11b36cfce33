"""The pictures of docs/concepts.md, as SVG: `python docs/generate/pictures.py` writes them into docs/pictures."""

from itertools import groupby
from pathlib import Path

from gotta.data import dataset
from gotta.streams import Stream, StreamSpec

COLOURS = ("#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#bab0ac")
INK, QUIET, ACCENT = "#222222", "#777777", "#1f6f8b"
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
    parts = []
    for k, (title, spec) in enumerate(rows.items()):
        parts.append(text(10, 26 + 54 * k, title, anchor="start"))
        begin = 0
        for label, run in groupby(Stream(data, spec).label[:150]):
            length = len(list(run))
            parts.append(rect(10 + 4.6 * begin, 32 + 54 * k, 4.6 * length, 22, COLOURS[label]))
            begin += length
    parts.append(text(700, 186, "time", QUIET, "end"))
    return svg(710, 194, "Three orders of the same images", parts)


def draw_statistics() -> str:
    """Where the mean and variance of a prediction come from."""
    parts = []
    rows = [
        ("source", ("training images",), "stays as it was trained"),
        ("batch", ("this batch",), "fails where a batch shows one class"),
        ("running, fed by the batch", ("this batch", "moving average"), "no memory is needed"),
        ("running, fed by the memory", ("this batch", "memory", "moving average"), "the memory chooses what counts"),
    ]
    for k, (name, boxes, words) in enumerate(rows):
        y = 20 + 58 * k
        parts.append(text(10, y + 20, name, anchor="start", bold=True))
        parts.append(text(10, y + 36, words, QUIET, "start", size=11))
        chain = [*boxes, "BatchNorm"]
        left = 720 - 125 * len(chain)
        for j, box in enumerate(chain):
            x = left + 125 * j
            parts.append(boxed(x, y, 104, 36, box, ACCENT if box in ("memory", "moving average") else QUIET))
            if j + 1 < len(chain):
                parts.append(arrow(x + 106, y + 18, x + 123, y + 18))
    return svg(720, 250, "Where the statistics of a prediction come from", parts)


def draw_regime() -> str:
    """Samples along time, cut into steps, with an adaptation after each."""
    parts = []
    for k, (name, size) in enumerate((("no memory: steps of 64", 64), ("memory of 32 rows: steps of 32", 32))):
        y = 20 + 70 * k
        parts.append(text(10, y + 4, name, anchor="start"))
        for step in range(256 // size):
            x = 10 + step * size * 2.7
            parts.append(rect(x, y + 12, size * 2.7 - 3, 22, "#d8e6ec"))
            parts.append(text(x + size * 1.35, y + 27, f"predict {size}", size=11))
            parts.append(text(x + size * 2.7 - 1, y + 48, "▲ adapt", ACCENT, "end", size=11))
    return svg(710, 150, "The regime steps_of_M", parts)


def draw_pairs() -> str:
    """Accuracies of two memories in six domains: far apart between domains, alike in their difference."""
    first, gap = (150, 95, 130, 60, 110, 78), (9, 12, 8, 11, 10, 13)
    parts = [text(10, 22, "accuracy in each domain", anchor="start"), text(480, 22, "difference", anchor="start")]
    for k, (y, rise) in enumerate(zip(first, gap, strict=True)):
        x = 40 + 70 * k
        parts += [line(x, y, x, y - rise, QUIET), dot(x, y, COLOURS[0]), dot(x, y - rise, COLOURS[1])]
        parts += [dot(500 + 30 * k, 150 - 4.2 * rise, INK), text(x, 182, f"domain {k + 1}", QUIET, size=11)]
    for y, word in ((106, "mean"), (150, "zero")):
        parts += [line(480, y, 680, y, QUIET), text(684, y + 4, word, QUIET, "start", size=11)]
    return svg(730, 192, "Paired differences", parts)


def svg(width: int, height: int, title: str, parts: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
    ground = f'<title>{title}</title>\n<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, ground, *parts, "</svg>", ""])


def text(
    x: float, y: float, words: str, colour: str = INK, anchor: str = "middle", size: int = 13, bold: bool = False
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    style = f'font-family="sans-serif" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}'
    return f'<text x="{x:g}" y="{y:g}" {style}>{words}</text>'


def rect(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{colour}"/>'


def boxed(x: float, y: float, width: float, height: float, words: str, colour: str) -> str:
    place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {place} rx="5" fill="none" stroke="{colour}"/>' + text(x + width / 2, y + 23, words, size=12)


def line(x: float, y: float, to_x: float, to_y: float, colour: str) -> str:
    return f'<line x1="{x:g}" y1="{y:g}" x2="{to_x:g}" y2="{to_y:g}" stroke="{colour}"/>'


def arrow(x: float, y: float, to_x: float, to_y: float) -> str:
    head = f'<path d="M{to_x:g} {to_y:g} l-6 -4 v8 z" fill="{INK}"/>'
    return line(x, y, to_x - 5, to_y, INK) + head


def dot(x: float, y: float, colour: str) -> str:
    return f'<circle cx="{x:g}" cy="{y:g}" r="4" fill="{colour}"/>'


if __name__ == "__main__":
    for name, picture in draw_all().items():
        (FOLDER / name).write_text(picture, encoding="utf-8")
