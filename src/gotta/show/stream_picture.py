"""A picture of what a stream shows over time."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy.ndimage import maximum_filter1d

from gotta.show.contact_sheet import FAINT, INK, Pixels, Rgb, font, palette, save
from gotta.streams.order import USUAL_RUN, class_runs
from gotta.streams.stream import Stream, known_labels
from gotta.streams.stream_spec import StreamSpec
from gotta.types import FOREIGN, Floats, read_pair


def title(spec: StreamSpec) -> str:
    """Order x schedule and what shapes them."""
    gamma = f" gamma={spec.gamma:g}"
    domain = f", domain {_chain(spec.domain_stay)}" if spec.schedule == "mixed" else ""
    shapes = {
        "dirichlet": gamma,
        "note": f" beta={spec.beta:g}",
        "runs": f" of {spec.run_length or USUAL_RUN:g}{gamma}",
        "markov": f" (class {_chain(spec.class_stay)}{domain})",
    }
    times = f" x{spec.repeats}" if spec.repeats > 1 else ""
    times += f" delta={spec.delta:g}" if spec.schedule == "cdc" else ""
    copies = f", classes {spec.class_imbalance:g} to 1" if spec.class_imbalance > 1 else ""
    copies += ", drawn for each domain" if spec.head == "random" else ""
    copies += f", domains {spec.domain_imbalance:g} to 1" if spec.domain_imbalance > 1 else ""
    copies += f", each image {spec.duplicates} times" if spec.duplicates > 1 else ""
    copies += f", {spec.frames} frames of each clip" if spec.frames else ""
    copies += f", {spec.foreign:.0%} foreign" if spec.foreign else ""
    copies += ", reset at each domain" if spec.reset_at_domain else ""
    return f"{spec.order}{shapes.get(spec.order, '')} x {spec.schedule}{times}{copies}, seed {spec.seed}"


def interleaved(stream: Stream) -> bool:
    """Whether domains come back otherwise than round by round: mixed, or in pieces."""
    return len(stream.starts) != len(stream.domains)


def _chain(stay: float | None) -> str:
    return "independent" if stay is None else "one after the other" if stay == 1 else f"stays with {stay:g}"


def show_text(stream: Stream, exposed: NDArray[np.bool_] | None = None) -> str:
    """The stream in a few lines for a terminal."""
    known, per_batch = known_labels(stream.label), stream.classes_per_batch
    visits = list(dict.fromkeys(stream.domains))
    times = f" in {len(stream.domains)} visits" if len(visits) < len(stream.domains) else ""
    shown = ", ".join(visits[:20]) + (", ..." if len(visits) > 20 else "")
    runs = class_runs(known)
    quartiles = " / ".join(f"{length:g}" for length in np.percentile(runs, [25, 50, 75]))
    lines = [
        f"stream       {title(stream.spec)}",
        f"hash         {stream.hash}",
        f"samples      {stream.num_samples} in {len(stream)} batches of up to {stream.batch_size}",
    ]
    if hasattr(stream.dataset, "clips"):
        frames = np.diff(stream.clip_starts, append=stream.num_samples)
        lines.append(f"clips        {len(frames)} of {frames.min()} to {frames.max()} frames, one after the other")
    lines.append(f"classes      {len(np.unique(known))} of {stream.num_classes}")
    if foreign := stream.num_samples - len(known):
        lines.append(f"foreign      {foreign} samples of no class, between the others")
    lines += [
        f"domains      {len(visits)}{times}: {shown}",
        f"class runs   {len(runs)}; length mean {runs.mean():.1f}, quartiles {quartiles}, longest {runs.max()}",
        f"classes in a batch   mean {per_batch.mean():.1f}, fewest {per_batch.min()}, most {per_batch.max()}",
    ]
    if stream.spec.class_imbalance > 1:
        sizes = np.bincount(known, minlength=stream.num_classes)
        lines.append(f"class sizes  {sizes.max()} at most, {sizes.min()} at least")
    if interleaved(stream):
        runs, sizes = class_runs(stream.domain), np.bincount(stream.domain, minlength=len(stream.domains))
        lines.append(f"domain runs  {len(runs)}; length mean {runs.mean():.1f}, longest {runs.max()}")
        lines.append(f"domain sizes {sizes.max()} at most, {sizes.min()} at least")
    if exposed is not None:
        lines.append(f"adapted to   {exposed.sum()} of {len(stream)} batches; all are scored")
    return "\n".join([*lines, *(f"note         {note}" for note in stream.notes)])


Flags = NDArray[np.bool_]

WIDTH, LEFT, RIGHT = 1400, 76, 24
TITLE, NAME_ROW, STRIP, AXIS, GAP = 62, 20, 90, 44, 14
DOMAIN_ROW = 14  # pixels of a domain where they are mixed
BANDS = np.array([[255, 255, 255], [236, 239, 243]], np.float64)
BAR: Rgb = (70, 90, 120)
HELD_OUT: Rgb = (190, 203, 220)  # the bar of a batch that is predicted and not adapted to
LEADER: Rgb = (190, 190, 190)


class Span(NamedTuple):
    """A stretch of the stream that deserves a name."""

    name: str
    begin: int
    end: int


class Label(NamedTuple):
    """A name, where its middle goes, and how many rows above the plot it stands."""

    name: str
    middle: float
    row: int


def draw(stream: Stream, path: str | Path, exposed: Flags | None = None) -> Path:
    """Write a PNG: time to the right, one row per class, one band per domain, and the classes per batch below.

    `exposed` says of each batch whether it is adapted to; the bars of the others are pale.
    """
    classes, plot = count_rows(stream), WIDTH - LEFT - RIGHT
    height = plot_height(classes)
    spans = name_spans(stream, plot)
    labels = place_names(spans, stream.num_samples, plot)
    top = TITLE + NAME_ROW * (1 + max(label.row for label in labels)) + 6
    band, domains = bands(spans, stream.num_samples, plot), len(stream.domains)
    middle = below = top + height + GAP
    panels = [(top, class_rows(stream, band, height))]
    if interleaved(stream):
        panels.append((middle, rows_of(stream.domain, palette(domains), band, plot_height(domains, DOMAIN_ROW))))
        below += len(panels[1][1]) + GAP
    levels = severities(stream)
    strip = batch_strip(stream, plot, exposed) if levels is None else severity_strip(stream, levels, plot)
    picture = Image.new("RGB", (WIDTH, below + STRIP + AXIS), "white")
    pen = ImageDraw.Draw(picture)
    _titles(pen, stream, exposed)
    _names(pen, labels, top)
    for upper, pixels in (*panels, (below, strip)):
        picture.paste(Image.fromarray(pixels), (LEFT, upper))
        pen.rectangle((LEFT - 1, upper - 1, LEFT + plot, upper + len(pixels)), outline=FAINT)
    _row_axis(pen, "class", classes, top, height, stream.num_classes)
    if interleaved(stream):
        _row_axis(pen, "domain", domains, middle, len(panels[1][1]), domains)
    _strip_axis(pen, below, *((_most(stream), "classes\nin a batch") if levels is None else (MOST, "both\nseverities")))
    _time_axis(pen, stream.num_samples, plot, below + STRIP)
    return save(picture, path)


def count_rows(stream: Stream) -> int:
    """One for each class, and one below them for foreign samples if there are any."""
    return stream.num_classes + bool((stream.label == FOREIGN).any())


def plot_height(rows: int, thickest: int = 22) -> int:
    """Rows of 22 pixels for few classes, down to one pixel for a thousand."""
    return rows * min(thickest, max(1, 600 // rows))


def bands(spans: list[Span], samples: int, plot: int) -> Floats:
    """The background of each column, alternating with the spans."""
    begin = np.array([span.begin for span in spans])
    span = np.searchsorted(begin, _first_sample(samples, plot), side="right") - 1
    return BANDS[span % 2].astype(np.float64)


def class_rows(stream: Stream, background: Floats, height: int) -> Pixels:
    """The classes, and below them the foreign samples, as rows."""
    label = np.where(stream.label == FOREIGN, stream.num_classes, stream.label)
    colours = np.concatenate([palette(stream.num_classes), [FAINT]])[: count_rows(stream)]
    return rows_of(label, colours, background, height)


def rows_of(label: NDArray[np.int64], colours: Floats, background: Floats, height: int) -> Pixels:
    """Each class, or domain, as a row: the more of a column's samples are of it, the stronger its colour."""
    classes, plot = len(colours), len(background)
    share = class_share(label, classes, plot)
    thick = height // classes
    if thick < 6 and len(label) <= 4 * plot:
        # Each mark one column wider on both sides, so that a lone sample of many classes can be seen.
        share = maximum_filter1d(share, 3, axis=1, mode="constant")
    least = 0.3 if thick >= 6 else 0.6  # thin rows need more ink to be seen
    strength = np.where(share > 0, least + (1 - least) * share, 0.0)[..., None]  # [C, W, 1]
    rows = background[None] * (1 - strength) + colours[:, None] * strength
    image: Pixels = rows.round().astype(np.uint8).repeat(thick, 0)
    if thick >= 6:
        image[thick - 1 :: thick] = background.astype(np.uint8)
    return image


def class_share(label: NDArray[np.int64], classes: int, plot: int) -> Floats:
    """[C, W]: the share of each class among the samples of a column; columns hold one sample if there are fewer."""
    share = np.zeros((classes, plot))
    if len(label) <= plot:
        share[label[_first_sample(len(label), plot)], np.arange(plot)] = 1.0
        return share
    np.add.at(share, (label, np.arange(len(label)) * plot // len(label)), 1.0)
    share /= share.sum(0)
    return share


def batch_strip(stream: Stream, plot: int, exposed: Flags | None = None) -> Pixels:
    """The number of distinct classes of the batch that a column's first sample is in, as a bar from the ground."""
    start = np.array([batch.start for batch in stream.batches])
    batch = np.searchsorted(start, _first_sample(stream.num_samples, plot), side="right") - 1
    height = (stream.classes_per_batch[batch] / _most(stream) * (STRIP - 4)).round()
    held_out = np.zeros(plot, bool) if exposed is None else ~exposed[batch]
    return _bars((height, BAR), (height * held_out, HELD_OUT))


def _bars(*drawn: tuple[Floats, Rgb]) -> Pixels:
    """Bars of these heights from the ground on white, each over those before it."""
    strip = np.full((STRIP, len(drawn[0][0]), 3), 255, np.uint8)
    for height, colour in drawn:
        strip[np.arange(STRIP, 0, -1)[:, None] <= height] = colour
    return strip


def name_spans(stream: Stream, plot: int) -> list[Span]:
    """The visits; or what they form together: a mixed pool, a gradual rise and fall, a round that recurs."""
    starts, samples = stream.starts, stream.num_samples
    if len(starts) < len(stream.domains):
        return [Span(f"{len(stream.domains)} domains mixed", 0, samples)]
    names = [stream.domains[stream.domain[start]] for start in starts]
    pairs = [pair for name in names if (pair := read_pair(name))]
    together = [name.rpartition("-")[0] for name in names] if stream.spec.schedule == "gradual" else []
    if len(pairs) == len(names):  # a walk: the points between two corruptions together
        together = [f"{pair[0][0]} to {pair[1][0]}" for pair in pairs]
    if together:
        first = [k for k, name in enumerate(together) if k == 0 or together[k - 1] != name]
        return _spans([together[k] for k in first], [starts[k] for k in first], samples)
    visits = _spans(names, starts, samples)
    if stream.spec.repeats > 1 and len(place_names(visits, samples, plot)) < len(visits):
        size = len(names) // stream.spec.repeats
        rounds = [f"round {k + 1}" for k in range(stream.spec.repeats)]
        return _spans(rounds, starts[::size], samples)
    return visits


def _spans(names: Sequence[str], starts: Sequence[int], samples: int) -> list[Span]:
    return [Span(*span) for span in zip(names, starts, [*starts[1:], samples], strict=True)]


def place_names(spans: list[Span], samples: int, plot: int) -> list[Label]:
    """Each name in the lowest of three rows that has room for it; a name that has none anywhere is left out."""
    labels, taken = [], [float("-inf")] * 3  # how far to the right
    for span in spans:
        half = font(13).getlength(span.name) / 2
        middle = LEFT + (span.begin + span.end) / 2 * plot / samples
        middle = min(max(middle, LEFT + half), LEFT + plot - half)
        row = next((row for row, end in enumerate(taken) if middle - half >= end), None)
        if row is not None:
            labels.append(Label(span.name, middle, row))
            taken[row] = middle + half + 8
    return labels


def _titles(pen: ImageDraw.ImageDraw, stream: Stream, exposed: Flags | None) -> None:
    runs = class_runs(known_labels(stream.label))
    facts = (
        f"{stream.num_samples} samples in {len(stream)} batches of {stream.batch_size}; class runs: mean "
        f"{runs.mean():.1f}, median {np.median(runs):g}, longest {runs.max()}; hash {stream.hash[:12]}"
    )
    if exposed is not None:
        facts += f"; {exposed.sum()} of {len(stream)} batches are adapted to (dark bars)"
    pen.text((LEFT, 24), title(stream.spec), fill=INK, font=font(20), anchor="ls")
    pen.text((LEFT, 46), facts, fill=FAINT, font=font(13), anchor="ls")


def _names(pen: ImageDraw.ImageDraw, labels: list[Label], top: int) -> None:
    for label in labels:
        if label.row:
            pen.line((label.middle, top - 3 - NAME_ROW * label.row, label.middle, top - 2), fill=LEADER)
    for label in labels:
        pen.text((label.middle, top - 8 - NAME_ROW * label.row), label.name, fill=INK, font=font(13), anchor="ms")


def _row_axis(pen: ImageDraw.ImageDraw, name: str, rows: int, top: int, height: int, numbered: int) -> None:
    """Numbers at the rows, or that they are foreign, and beside the first what they are of."""
    for y in _ticks(rows, 20 if rows <= 20 else 8):
        text = str(y) if y < numbered else "foreign"
        pen.text((LEFT - 8, top + (y + 0.5) * height / rows), text, fill=INK, font=font(12), anchor="rm")
    pen.text((8, top + 12), name, fill=INK, font=font(13), anchor="ls")


def _strip_axis(pen: ImageDraw.ImageDraw, below: int, most: int, name: str) -> None:
    pen.text((LEFT - 8, below + 4), str(most), fill=INK, font=font(12), anchor="rm")
    pen.text((LEFT - 8, below + STRIP), "0", fill=INK, font=font(12), anchor="rm")
    pen.multiline_text((8, below + STRIP / 2), name, fill=INK, font=font(12), anchor="lm")


def _time_axis(pen: ImageDraw.ImageDraw, samples: int, plot: int, ground: int) -> None:
    for t in _ticks(samples, 10):
        x = LEFT + t * plot / samples
        pen.line((x, ground, x, ground + 5), fill=FAINT)
        pen.text((x, ground + 8), str(t), fill=INK, font=font(12), anchor="mt")
    pen.text((LEFT + plot, ground + 26), "samples", fill=INK, font=font(13), anchor="rt")


def _ticks(end: int, most: int) -> list[int]:
    """At most so many round numbers from 0 on, below end."""
    steps = (digit * 10**power for power in count() for digit in (1, 2, 5))
    return list(range(0, end, next(step for step in steps if (end - 1) // step + 1 <= most)))


def _most(stream: Stream) -> int:
    return int(stream.classes_per_batch.max())


def _first_sample(samples: int, plot: int) -> NDArray[np.int64]:
    """For each column the first sample that falls on it."""
    return np.arange(plot, dtype=np.int64) * samples // plot


SECOND: Rgb = (226, 139, 64)
MOST = 10  # the largest sum of two severities


def severities(stream: Stream) -> NDArray[np.float64] | None:
    """[visits, 2], if each visit of the stream is to two corruptions."""
    pairs = [read_pair(name) for name in stream.domains]
    found = [(pair[0][1], pair[1][1]) for pair in pairs if pair is not None]
    return np.array(found) if len(found) == len(pairs) else None


def severity_strip(stream: Stream, levels: NDArray[np.float64], plot: int) -> Pixels:
    """The severity of the first corruption as a bar from the ground, that of the second on top of it."""
    at = stream.domain[_first_sample(stream.num_samples, plot)]
    first, both = (np.round(values * (STRIP - 4) / MOST) for values in (levels[at, 0], levels[at].sum(1)))
    return _bars((both, SECOND), (first, BAR))
