"""When is a memory worth it, when class statistics, when the prior? From the runs of the recipe `when`."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

from gotta.report.figures.heat import Map, gain_maps, heat_figures
from gotta.report.figures.svg import svg
from gotta.report.panel import place
from gotta.report.rows import NO_MEMORY, Column, Row, name_cell
from gotta.report.stored_run import Run
from gotta.safe_text import tell_number
from pages.parts import grid, join, read

HEAD = """\
# When are a memory, class statistics or the prior worth it?

Points of accuracy above running statistics without a memory at the best of five rates on each stream. A
class lasts *run* samples on average, a domain 10 times *images of each class*. With gamma 100 all classes mix; with
gamma 0.1 a few come at a time. » uses the order of samples.

    gotta bench when
    python docs/make_pages.py when"""
AXES = ("stream.run_length", "stream.per_class", "stream.gamma")
DESKEW = Column("deskew", "patient", uses_order=True)
SUBJECTS = {  # with the words of their heading and the name of their picture
    (Row("memory", "fps"), Column("norm")): ("a memory: Norm with FPS, the better of two rates", "memory"),
    (NO_MEMORY, Column("deskew")): ("class statistics alone", "class"),
    (NO_MEMORY, DESKEW): ("deskew: class statistics and the prior »", "deskew"),
}


def make(root: Path) -> dict[Path, str]:
    runs = read(root, "when")
    maps = gain_maps(runs, AXES)
    count = f"{len(runs)} runs, {tell_number(len({run.seed for run in runs}), 'seed')}"
    parts = [HEAD, f"{count}: do not read much into differences below a point."]
    for subject, (words, picture) in SUBJECTS.items():
        gains = maps[subject]
        told = tell_edges(runs) if subject[0].is_memory else tell(gains)
        parts += [f"## {words[0].upper()}{words[1:]}", told, table(gains)]
        parts.append(f"![{words}, as a heat map](when-{picture}.svg)")
    drawn = {figure.method: svg(figure.drawing) + "\n" for figure in heat_figures(place(runs).whole)}
    pictures = {
        root / f"docs/results/when-{name}.svg": drawn[name_cell(*subject[::-1])]
        for subject, (_, name) in SUBJECTS.items()
    }
    return {root / "docs/results/when.md": join(parts), **pictures}


def tell(gains: Map) -> str:
    above = sum(gain > 0 for gain in gains.values())
    ends = []
    for word, choose in (("most", max), ("least", min)):
        run, images, gamma = choose(gains, key=lambda place: gains[place])
        where = f"runs of {run:g}, {images:g} images of each class, gamma {gamma:g}"
        ends.append(f"{word} {gains[run, images, gamma]:+.1f} ({where})")
    return f"Above 0 in {above} of {len(gains)} places; {', '.join(ends)}."


def tell_edges(runs: Sequence[Run]) -> str:
    """How often the best rate is at the end of those tried: then a rate beyond may be better."""
    told = []
    for name, is_of in (("running statistics", lambda run: bool(run.spec.control)), ("the memory", has_memory)):
        places: dict[tuple[float, ...], dict[float, float]] = {}
        for run in filter(is_of, runs):
            place = tuple(run.spec.stream[axis.removeprefix("stream.")] for axis in AXES)
            places.setdefault(place, {})[run.spec.method.rate or 0.0] = run.accuracy or 0.0
        ends = sum(max(rates, key=rates.__getitem__) in (min(rates), max(rates)) for rates in places.values())
        tried = len(next(iter(places.values())))
        told.append(f"{name} {ends} of {len(places)} times ({tried} rates)")
    return (
        f"Do not read this as a verdict on memories. The best rate lies at an end of the rates tried for "
        f"{' and '.join(told)}. The memory had fewer rates to choose from, and a domain of at most 1,000 samples ends "
        "while it fills. [The paper in one screen](paper.md) has domains of 10,000."
    )


def has_memory(run: Run) -> bool:
    return run.spec.has_memory and not run.spec.control


def table(gains: Map) -> str:
    runs, images, gammas = (sorted({place[k] for place in gains}) for k in range(3))
    columns = list(product(gammas[::-1], images))
    rows = {
        f"{run:g}": [f"{gains[run, n, g]:+.1f}" if (run, n, g) in gains else "" for g, n in columns] for run in runs
    }
    return grid("run", [f"gamma {gamma:g}, {number:g} images" for gamma, number in columns], rows)
