"""The paper's Figure 1 as a picture and as tables. `python -m gotta.report.teaser docs/results` makes the page anew."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from gotta.data.readers.cifar import CLASSES
from gotta.errors import GottaError
from gotta.experiment.run.environment import environment
from gotta.experiment.teaser import Held, Setting, TeaserResult, compute
from gotta.files import write_atomically
from gotta.metrics.measures import FloatArray
from gotta.report.tables.cells import MEANINGLESS, Cell, Row, Table, over_seeds
from gotta.report.tables.render import markdown
from gotta.show.contact_sheet import FAINT, FEW, INK, Rgb

WIDTH, MARGIN, GUTTER, HEADER, TITLE, PLOT, LINE = 1600, 24, 16, 96, 34, 220, 20
LINES = 5  # of numbers under a plot
FINE = 2  # pixels are drawn this much smaller, then averaged
STREAM: Rgb = (196, 196, 196)
COLOURS: tuple[Rgb, Rgb] = (FEW[0], FEW[5])  # blue and vermilion, with a circle and a triangle

COLUMNS = {  # measure: heading, factor, decimals
    "rows": ("rows", 1, 0),
    "images": ("images", 1, 0),
    "coverage_features": ("coverage", 1, 3),
    "nearest_features": ("nearest", 1, 3),
    "near_duplicates_features": ("near-dup %", 100, 1),
    "coverage_embedding": ("coverage z", 1, 3),
    "nearest_embedding": ("nearest z", 1, 3),
    "near_duplicates_embedding": ("near-dup z %", 100, 1),
    "balance": ("balance", 1, 2),
    "purity": ("purity %", 100, 1),
    "certain": ("certain %", 100, 1),
}
DIVERSE, OTHERS = ("cds", "fps"), ("fifo", "reservoir", "pbrs", "cstu")
PAIRS = ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9))  # every class once, so that none was picked
SEEDS = range(5)
TOTALS = ("stored", "rejected", "evicted")  # of the statistics; the others are reasons
VARIANTS: dict[str, dict[str, Any]] = {
    "as drawn": {},
    "2 Dirichlet slots": {"slots": 2},
    "shuffled stream": {"order": "iid"},
    "embedding: softmax over the pair": {"embedding": "pair"},
    "embedding: features": {"embedding": "features"},
    "labels among all ten classes": {"outputs": "model"},
}
BEGIN, END = "<!-- numbers: made by gotta.report.teaser -->", "<!-- end of numbers -->"


def tables(result: TeaserResult) -> Table:
    """One line per policy."""
    return measure_table([result], title=headline(result.setting), caption=caption(result))


def measure_table(results: Sequence[TeaserResult], title: str, caption: Iterable[str] = ()) -> Table:
    """The means over several results, with half the range."""
    names = list(dict.fromkeys(held.policy for result in results for held in result.held))
    rows = tuple(Row((name,), tuple(measure(results, name, key) for key in COLUMNS)) for name in names)
    columns = tuple(heading for heading, _, _ in COLUMNS.values())
    return Table(title, ("memory",), columns, rows, tuple(caption))


def measure(results: Sequence[TeaserResult], policy: str, key: str) -> Cell:
    _, factor, decimals = COLUMNS[key]
    found = [held.measures[key] for result in results for held in result.held if held.policy == policy]
    decimals = decimals or int(len(found) > 1)  # a mean of whole numbers is none
    values = {k: factor * value for k, value in enumerate(found) if value is not None}
    half = (max(values.values()) - min(values.values())) / 2 if len(values) > 1 else None
    return replace(over_seeds(values, decimals, interval=False), interval=half)


def wins(results: Sequence[TeaserResult]) -> Table:
    """In how many of the results a diverse memory has a smaller share of near-duplicates than another; or a larger."""
    rows = []
    for name, space in product(DIVERSE, ("features", "embedding")):
        gaps = {other: [gap(result, name, other, f"near_duplicates_{space}") for result in results] for other in OTHERS}
        for word, sign in (("fewer", -1), ("more", 1)):
            cells = (Cell(sum(g * sign > 0 for g in gaps[other]), decimals=0) for other in OTHERS)
            rows.append(Row((name, space, word), tuple(cells)))
    title = f"Fewer or more near-duplicates than ..., in so many of {len(results)} streams"
    return Table(title, ("memory", "measured in", "has"), OTHERS, tuple(rows))


def variant_table(results: Mapping[str, Sequence[TeaserResult]]) -> Table:
    """Near-duplicates among features and the number of rows, for other readings of what the paper leaves open."""
    names = (*OTHERS, *DIVERSE)
    rows = []
    for variant, found in results.items():
        cells = [measure(found, name, "near_duplicates_features") for name in names]
        cells += [measure(found, name, "rows") for name in DIVERSE]
        cells += [measure(found, name, "coverage_features") for name in ("pbrs", *DIVERSE)]
        rows.append(Row((variant,), tuple(Cell(cell.value, decimals=cell.decimals) for cell in cells)))
    columns = (*names, *(f"rows {name}" for name in DIVERSE), *(f"coverage {name}" for name in ("pbrs", *DIVERSE)))
    title = "Near-duplicates among the features (%), rows and coverage under other settings"
    return Table(title, ("setting",), columns, tuple(rows))


def decision_table(results: Sequence[TeaserResult]) -> Table:
    """How often each reason decided, in the memories that have reasons to tell apart."""
    held = [(name, [by_policy(result)[name].stats for result in results]) for name in DIVERSE]
    reasons = list(dict.fromkeys(r for _, stats in held for s in stats for r in s if r not in TOTALS))
    cells = {
        name: [Cell(sum(s.get(r, 0) for s in stats) / len(stats), decimals=0) for r in reasons] for name, stats in held
    }
    rows = tuple(Row((name,), tuple(cells[name])) for name in DIVERSE)
    return Table("Decisions, mean number per stream", ("memory",), tuple(reasons), rows)


def by_policy(result: TeaserResult) -> dict[str, Held]:
    return {held.policy: held for held in result.held}


def gap(result: TeaserResult, name: str, other: str, key: str) -> float:
    """The measure of one policy minus that of another; 0 if one has none."""
    held = by_policy(result)
    mine, theirs = held[name].measures[key], held[other].measures[key]
    return 0.0 if mine is None or theirs is None else mine - theirs


def headline(setting: Setting) -> str:
    return f"Figure 1: what {setting.capacity} rows hold of a stream of {' and '.join(class_names(setting))}"


def class_names(setting: Setting) -> tuple[str, str]:
    known = setting.data.startswith("cifar10")
    first, second = (CLASSES[c] if known else f"class {c}" for c in setting.classes)
    return first, second


def embedding_name(setting: Setting) -> str:
    return {"probs": "softmax", "pair": "pair", "features": "embedding"}[setting.embedding]


def facts(result: TeaserResult) -> str:
    setting, found = result.setting, result.facts
    order = f"{setting.order} {setting.gamma:g}" if setting.order == "dirichlet" else setting.order
    return (
        f"{found['images']} images, each {setting.duplicates} times, order {order}, {setting.batches} batches, "
        f"seed {setting.seed}; {setting.model} (weights {found['weights']}), frozen, "
        f"{found['accuracy_pair']:.1%} right of two; {found['certain']:.0%} of its outputs are within "
        f"{setting.epsilon:g} of certainty"
    )


def caption(result: TeaserResult) -> tuple[str, ...]:
    return (
        facts(result) + ".",
        "coverage: mean distance of the stream's samples to the nearest stored row, less is better. nearest: mean "
        "distance of a row to the nearest other row of its class. near-dup: rows of a class within "
        f"{result.setting.epsilon:g} of another one. Distances among penultimate features, in units of the stream's "
        f"spread; columns with z: in the embedding that the policies compare ({embedding_name(result.setting)}).",
        "images: different images among the rows. balance: entropy of the stored labels, 1 = equal. purity: stored "
        "labels that are true. certain: rows whose softmax is within "
        f"{result.setting.epsilon:g} of certainty.",
    )


def draw(result: TeaserResult, path: str | Path) -> Path:
    """Write the PNG: one panel per policy, the stream in grey, the stored rows on top, four numbers below."""
    columns = min(len(result.held), 5)
    rows = -(-len(result.held) // columns)
    panel = (WIDTH - 2 * MARGIN - 4 * GUTTER) // 5, TITLE + PLOT + LINE * LINES + 30
    size = WIDTH, HEADER + rows * panel[1] + MARGIN
    picture = Image.new("RGB", (size[0] * FINE, size[1] * FINE), "white")
    pen = ImageDraw.Draw(picture)
    header(pen, result)
    at = placed(result.points, panel[0], PLOT)
    for k, held in enumerate(result.held):
        left, top = MARGIN + k % columns * (panel[0] + GUTTER), HEADER + k // columns * panel[1]
        heading(pen, held, left, top, panel[0])
        scatter(pen, result, held, at + np.array([left, top + TITLE]))
        pen.rectangle(fine(left, top + TITLE, left + panel[0], top + TITLE + PLOT), outline=STREAM, width=FINE)
        numbers(pen, held, embedding_name(result.setting), left, top + TITLE + PLOT + 10, panel[0])
    buffer = BytesIO()
    picture.resize(size, Image.Resampling.LANCZOS).save(buffer, format="PNG", optimize=True)
    write_atomically(Path(path), buffer.getvalue())
    return Path(path)


def placed(points: FloatArray, width: int, height: int, border: int = 16) -> FloatArray:
    """Where in a plot each point goes: the same scale on both axes, centred, the second component upwards."""
    low, high = points.min(0), points.max(0)
    room = np.array([width, height]) - 2 * border
    scale = (room / np.maximum(high - low, 1e-12)).min()
    middle = np.array([width, height]) / 2
    placed: FloatArray = (points - (low + high) / 2) * scale * (1, -1) + middle
    return placed


def scatter(pen: ImageDraw.ImageDraw, result: TeaserResult, held: Held, at: FloatArray) -> None:
    """Copies of an image lie on one another, so a larger mark tells how many of them are stored."""
    for x, y in at:
        pen.ellipse(fine(x - 2.2, y - 2.2, x + 2.2, y + 2.2), fill=STREAM)
    copies = Counter(held.image.tolist())
    for image, count in sorted(copies.items(), key=lambda item: item[1]):
        x, y = at[image]
        mark(pen, x, y, int(result.truth[image]), count)


def mark(pen: ImageDraw.ImageDraw, x: float, y: float, kind: int, count: int = 1) -> None:
    """A circle for the first class, a triangle for the second, with a white rim to keep neighbours apart."""
    radius = 5.5 if count == 1 else 9.5
    for size, colour in ((radius + 1, (255, 255, 255)), (radius, COLOURS[kind])):
        if kind == 0:
            pen.ellipse(fine(x - size, y - size, x + size, y + size), fill=colour)
        else:
            wide, up, down = 1.35 * size, 1.4 * size, size
            pen.polygon(fine(x - wide, y + down, x + wide, y + down, x, y - up), fill=colour)
    if count > 1:
        pen.text(spot(x, y + 2.5 * kind), str(count), fill="white", font=font(13), anchor="mm")


def header(pen: ImageDraw.ImageDraw, result: TeaserResult) -> None:
    pen.text(spot(MARGIN, 34), headline(result.setting), fill=INK, font=font(24), anchor="ls")
    pen.text(spot(MARGIN, 58), facts(result), fill=FAINT, font=font(14), anchor="ls")
    first, second = result.explained
    x = float(MARGIN)
    pen.ellipse(fine(x, 76, x + 5, 81), fill=STREAM)
    x = label(pen, x + 12, f"stream (principal components of the features: {first:.0%} and {second:.0%} of variance)")
    for kind, name in enumerate(class_names(result.setting)):
        mark(pen, x + 6, 78, kind)
        x = label(pen, x + 18, f"stored {name} (true class)")
    mark(pen, x + 10, 78, 0, count=4)
    label(pen, x + 26, "4 stored copies of one image")


def label(pen: ImageDraw.ImageDraw, x: float, text: str) -> float:
    """Write a part of the legend; returns where the next one begins."""
    pen.text(spot(x, 83), text, fill=INK, font=font(14), anchor="ls")
    return x + font(14).getlength(text) / FINE + 24


def heading(pen: ImageDraw.ImageDraw, held: Held, left: int, top: int, width: int) -> None:
    rows, images = held.measures["rows"], held.measures["images"]
    pen.text(spot(left, top + TITLE - 9), held.policy.upper(), fill=INK, font=font(20), anchor="ls")
    text = f"{rows:.0f} rows of {images:.0f} images"
    pen.text(spot(left + width, top + TITLE - 9), text, fill=FAINT, font=font(14), anchor="rs")


def numbers(pen: ImageDraw.ImageDraw, held: Held, embedding: str, left: int, top: int, width: int) -> None:
    """Each measure in the features and in the embedding; the balance is of no space."""
    found = held.measures
    lines = [("", "features", embedding)]
    for name, text in (("coverage", "coverage (less is better)"), ("nearest", "nearest row")):
        lines.append((text, shown(found[f"{name}_features"]), shown(found[f"{name}_embedding"])))
    share = (shown(found[f"near_duplicates_{space}"], ".0%") for space in ("features", "embedding"))
    lines += [("near-duplicates", next(share), next(share)), ("class balance", "", shown(found["balance"]))]
    for k, line in enumerate(lines):
        for text, x, anchor in zip(line, (left, left + width - 84, left + width), ("ls", "rs", "rs"), strict=True):
            y = top + LINE * k + 14
            pen.text(spot(x, y), text, fill=INK if k else FAINT, font=font(14), anchor=anchor)


def shown(value: float | None, form: str = ".2f") -> str:
    return MEANINGLESS if value is None else f"{value:{form}}"


def spot(x: float, y: float) -> tuple[float, float]:
    return FINE * float(x), FINE * float(y)


def fine(*lengths: float) -> list[float]:
    return [FINE * float(length) for length in lengths]


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    found = ImageFont.load_default(size=size * FINE)
    assert isinstance(found, ImageFont.FreeTypeFont)
    return found


def write_page(
    folder: Path,
    pairs: Sequence[tuple[int, int]] = PAIRS,
    seeds: Sequence[int] = SEEDS,
    variants: dict[str, dict[str, Any]] = VARIANTS,
    tell: Callable[[str], None] = lambda line: None,
    **changes: Any,
) -> Path:
    """Draw `teaser.png` and put the numbers into `teaser.md`, between its two marks; the words around them stay."""
    page = folder / "teaser.md"
    before, begin, rest = page.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise GottaError(f"{page} has no place for the numbers. Expected the lines '{BEGIN}' and '{END}'.")
    draw(first := compute(Setting(**changes)), folder / "teaser.png")
    found = {}
    for name, variant in variants.items():
        tell(name)
        names = None if not variant else [*OTHERS, *DIVERSE]
        settings = [Setting(classes=c, seed=s, **{**changes, **variant}) for c in pairs for s in seeds]
        found[name] = [compute(setting, names) for setting in settings]
    streams = f"{len(pairs)} pairs of classes and {len(seeds)} seeds"
    usual = next(iter(found.values()))
    shown = [
        tables(first),
        measure_table(usual, f"Mean over {streams}, and half the range"),
        wins(usual),
        decision_table(usual),
        variant_table(found),
    ]
    made = ", ".join(f"{name} {value}" for name, value in environment().items() if name in ("gotta", "torch", "numpy"))
    block = "\n".join(["![what each memory holds](teaser.png)\n", *map(markdown, shown), f"Made with {made}."])
    write_atomically(page, f"{before}{BEGIN}\n\n{block}\n\n{END}{after}")
    return page


if __name__ == "__main__":
    print(write_page(Path(sys.argv[1]), tell=print))
