"""Accuracy in each domain: where the rows of the table differ, beside the means that the table has."""

from collections.abc import Sequence

from gotta.report.cells import by_seed
from gotta.report.figures.chart import POINT, SMALL, clip, room, start, text_width, y_axis
from gotta.report.figures.drawing import BAND, FAINT, INK, Box, Line, Text, marker
from gotta.report.figures.figure import Figure, draws, first_lines, keep_lines
from gotta.report.figures.palette import look_of_entry, styles
from gotta.report.panel import Entry, Panel, Runs

MEAN = "mean"
HEIGHT = 250.0
Scores = dict[Entry, dict[str, float]]  # domain: accuracy over seeds


@draws("domains", position=5)
def domain_figures(panel: Panel) -> list[Figure]:
    """One over all methods, where the runs met two domains or more."""
    kept, which = keep_lines(panel.entries)
    scored = {entry: found for entry in kept if (found := domain_scores(entry.runs))}
    domains = list(dict.fromkeys(domain for found in scored.values() for domain in found))
    if len(domains) < 2 or len(scored) < 2:
        return []
    return [_figure(scored, domains, which)]


def domain_scores(runs: Runs) -> dict[str, float]:
    """The mean over seeds in each domain, in the order of the runs."""
    names = dict.fromkeys(name for run in runs for name in run.scores())
    found = {name: by_seed(runs, lambda run, name=name: run.scores().get(name)) for name in names}  # type: ignore[misc]
    return {name: sum(values.values()) / len(values) for name, values in found.items() if values}


def _figure(scored: Scores, domains: Sequence[str], which: str) -> Figure:
    title = "Where the difference is made"
    scores = {entry.name: found for entry, found in scored.items()}
    looks = styles({entry.name: look_of_entry(entry) for entry in scored})
    first = [entry.name for entry in first_lines(list(scored))]
    names = _short(domains)
    means = {name: sum(found.values()) / len(found) for name, found in scores.items()}
    ends = [value for found in scores.values() for value in found.values()]
    spans = (-0.5, len(domains) + 0.5), room(ends, least=POINT)
    below = max(text_width(name, SMALL) for name in (*names, MEAN)) + 16
    words = "; ".join(f"{name} {value:.1f} on average" for name, value in means.items()) + "."
    drawing, frame = start(title, words, looks, *spans, HEIGHT, first=first, left=44, below=below)
    left = frame.across(len(domains) - 0.5)
    drawing.add(Box(left, frame.top, frame.right - left, HEIGHT, BAND))
    y_axis(drawing, frame, "accuracy in %")
    for k, name in enumerate((*names, MEAN)):
        place, bold = (frame.across(k) + 4, frame.bottom + 8), k == len(names)
        drawing.add(Text(*place, name, INK if bold else FAINT, SMALL, "end", bold, upright=True))
    for name, found in scores.items():
        look = looks[name]
        points = [frame.at(k, found[domain]) for k, domain in enumerate(domains) if domain in found]
        drawing.add(Line(tuple(points), look.colour, 1.8, look.dash), line=name)
        for point in (*points, frame.at(len(domains), means[name])):
            drawing.add(*marker(look.marker, *point, look.colour, 3.5), line=name)
    return Figure(title, f"Mean over seeds; right: the mean over domains, as in the table.{which}", drawing)


def _short(domains: Sequence[str]) -> list[str]:
    """The names without the severity that all of them have."""
    severities = {name.rpartition("-")[2] for name in domains}
    shared = len(severities) == 1 and all("-" in name for name in domains)
    return [clip((name.rpartition("-")[0] if shared else name).replace("_", " "), 24) for name in domains]
