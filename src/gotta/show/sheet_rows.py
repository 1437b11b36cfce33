"""The rows of a contact sheet: classes, domains or clips of a data set, or batches or clips of a stream in order."""

from collections.abc import Sequence

import numpy as np

from gotta.errors import match_names
from gotta.show.contact_sheet import FAINT, Row, Tile, class_colours
from gotta.streams.stream import Stream, shown
from gotta.types import Dataset, Images, IntArray

CLEAN = "clean"


def class_names(dataset: Dataset, known: Sequence[str] = ()) -> list[str]:
    """What the data set calls its classes, or what is known of it, with their numbers."""
    given = getattr(dataset, "classes", None) or getattr(getattr(dataset, "pictures", None), "classes", None) or known
    named = given if len(given) == dataset.num_classes else [""] * dataset.num_classes
    return [f"{k} {name}".strip() if name.lstrip("0") != str(k or "") else str(k) for k, name in enumerate(named)]


def chosen_domains(dataset: Dataset, patterns: str) -> list[str]:
    """The domains that a comma list of names or wildcards picks; the clean one, or else the first, if it is empty."""
    if not patterns:
        return [CLEAN if CLEAN in dataset.domains else dataset.domains[0]]
    wanted = ",".join("*" if part.strip() == "all" else part for part in patterns.split(","))
    return match_names("domain", wanted, dataset.domains)


def class_rows(dataset: Dataset, names: Sequence[str], domain: str, rows: int, columns: int) -> list[Row]:
    """For each class, or for so many spread over all, the first images of it."""
    colours, labels = class_colours(dataset.num_classes), dataset.labels
    made = []
    for y in spread(np.unique(labels), rows):
        index = np.flatnonzero(labels == y)
        images = dataset.images(domain, index[:columns])
        made.append(Row(names[y], [Tile(image, colours[y]) for image in images], f"{len(index):,} images"))
    return made


def domain_rows(dataset: Dataset, names: Sequence[str], domains: Sequence[str], rows: int, columns: int) -> list[Row]:
    """The same images, of different classes, in each domain."""
    colours, labels = class_colours(dataset.num_classes), dataset.labels
    _, first = np.unique(labels, return_index=True)
    index = spread(first, columns)
    made = []
    for k in spread(np.arange(len(domains)), rows):
        pairs = zip(dataset.images(domains[k], index), labels[index], strict=True)
        made.append(Row(domains[k], [Tile(image, colours[y], names[y]) for image, y in pairs]))
    return made


def clip_rows(
    dataset: Dataset, clips: IntArray, names: Sequence[str], domain: str, rows: int, columns: int
) -> list[Row]:
    """Clips spread over the data set, each with frames spread over it."""
    colours = class_colours(dataset.num_classes)
    made = []
    for clip in spread(np.unique(clips), rows):
        frames = np.flatnonzero(clips == clip)
        at, y = spread(np.arange(len(frames)), columns), dataset.labels[frames[0]]
        pairs = zip(dataset.images(domain, frames[at]), at, strict=True)
        tiles = [Tile(image, colours[y], str(k)) for image, k in pairs]
        made.append(Row(names[y], tiles, f"clip {clip}, {len(frames)} frames"))
    return made


def spread(values: IntArray, most: int) -> IntArray:
    """All of them, or so many evenly spread from the first to the last."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).round().astype(np.int64)]


def batch_rows(stream: Stream, names: Sequence[str], rows: int, columns: int) -> list[Row]:
    """Batches spread over the stream, each with its first samples in order."""
    colours = [*class_colours(stream.num_classes), FAINT]  # the last ones are those of foreign samples, label -1
    names, made = [*names, "foreign"], []
    for number in spread(np.arange(len(stream)), rows):
        batch = stream.batches[number]
        at = slice(batch.start, min(batch.stop, batch.start + columns))
        pairs = zip(_images(stream, at), stream.label[at], strict=True)
        domains = list(dict.fromkeys(stream.domains[k] for k in stream.domain[batch]))
        where = domains[0] if len(domains) == 1 else f"{domains[0]} and {len(domains) - 1} more"
        made.append(Row(f"batch {number}", [Tile(image, colours[y], names[y]) for image, y in pairs], where))
    return made


def stream_clip_rows(stream: Stream, names: Sequence[str], rows: int, columns: int) -> list[Row]:
    """Clips spread over the stream in the order in which they arrive, each with frames spread over it."""
    ends, colours = np.append(stream.clip_starts, stream.num_samples), class_colours(stream.num_classes)
    made = []
    for clip in spread(np.arange(len(ends) - 1), rows):
        begin, length = ends[clip], ends[clip + 1] - ends[clip]
        at, y = spread(np.arange(length), columns), stream.label[begin]
        tiles = [Tile(image, colours[y], str(k)) for image, k in zip(_images(stream, begin + at), at, strict=True)]
        where = stream.domains[stream.domain[begin]]
        made.append(Row(f"{clip}: {names[y]}", tiles, f"{where}, {length} frames"))
    return made


def _images(stream: Stream, at: slice | IntArray) -> Images:
    """The pictures of these samples."""
    return shown(stream.dataset, stream.request(at))
