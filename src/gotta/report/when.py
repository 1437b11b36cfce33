"""When is a memory worth it, when class statistics, when the prior? From the runs of the recipe `when`.

    gotta bench when
    python -m gotta.report.when runs/when > docs/results/when.md

The heat maps of the page are the figures that `gotta report runs/when` writes.
"""

import sys
from collections.abc import Sequence
from itertools import product

from gotta.errors import GottaError
from gotta.report.figures.chart import shown
from gotta.report.figures.heat import Map, gain_maps, stream_axes
from gotta.report.results import read_results
from gotta.report.stored_run import Run

HEAD = """\
# When is a memory worth it, when class statistics, when the prior?

Points of accuracy above running statistics without a memory, which have the best of five rates on each stream. A
class goes on for *run* samples on average; a domain lasts for
10 times *images of each class*; with gamma 100 all classes come everywhere, with gamma 0.1 a few at a time.

    gotta bench when
    python -m gotta.report.when runs/when > docs/results/when.md"""
AXES = ("stream.run_length", "stream.per_class", "stream.gamma")
WORDS = {
    "norm + fps": "a memory: Norm with FPS, the better of two rates",
    "deskew, class statistics": "class statistics alone",
    "deskew, patient prior": "deskew: class statistics and the prior",
}
PICTURES = {"norm + fps": "memory", "deskew, class statistics": "class", "deskew, patient prior": "deskew"}


def list_gains(runs: Sequence[Run]) -> dict[str, Map]:
    """By name, the gain at each run length, images per class and gamma."""
    if set(AXES) - set(stream_axes(runs)):
        raise GottaError("the runs do not vary run length, domain length and gamma. Run gotta bench when first.")
    return gain_maps(runs, AXES)


def page(runs: Sequence[Run]) -> str:
    maps, seeds = list_gains(runs), len({run.seed for run in runs})
    count = f"{len(runs)} runs, {seeds} {'seed' if seeds == 1 else 'seeds'}"
    parts = [HEAD, f"{count}: differences below a point are a direction at most."]
    for name in sorted(maps, key=lambda name: [*WORDS, name].index(name)):
        gains = maps[name]
        parts += [f"## {WORDS.get(name, name).capitalize()}", _tell(gains), _table(gains)]
        if name in PICTURES:
            parts.append(f"![{WORDS[name]}, as a heat map](when-{PICTURES[name]}.png)")
    return "\n\n".join(parts) + "\n"


def _tell(gains: Map) -> str:
    most, least = (choose(gains, key=lambda place: gains[place]) for choose in (max, min))
    above = sum(gain > 0 for gain in gains.values())
    ends = ", ".join(
        f"{word} {gains[place]:+.1f} ({_place(place)})" for word, place in (("most", most), ("least", least))
    )
    return f"Above 0 in {above} of {len(gains)} places; {ends}."


def _place(place: Sequence[float]) -> str:
    run, images, gamma = map(shown, place)
    return f"runs of {run}, {images} images of each class, gamma {gamma}"


def _table(gains: Map) -> str:
    runs, images, gammas = (sorted({place[k] for place in gains}) for k in range(3))
    columns = list(product(gammas[::-1], images))
    heads = [f"gamma {shown(gamma)}, {shown(number)} images" for gamma, number in columns]
    lines = ["| run | " + " | ".join(heads) + " |", "|---:|" + "---:|" * len(columns)]
    for run in runs:
        cells = [gains.get((run, number, gamma)) for gamma, number in columns]
        shown_cells = ["" if gain is None else f"{gain:+.1f}" for gain in cells]
        lines.append(f"| {shown(run)} | " + " | ".join(shown_cells) + " |")
    return "\n".join(lines)


def main(folder: str) -> None:
    sys.stdout.write(page(read_results(folder).runs))


if __name__ == "__main__":
    main(sys.argv[1])
