"""The rows of a contact sheet: classes, domains or clips of a data set, or batches or clips of a stream in order."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from gotta.errors import unknown
from gotta.show.contact_sheet import FAINT, Pixels, Row, Tile, class_colours
from gotta.streams.stream import Stream, shown
from gotta.types import Dataset, IntArray

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
    found: dict[str, None] = {}
    for pattern in (part.strip() for part in patterns.split(",") if part.strip()):
        hits = [name for name in dataset.domains if pattern == "all" or fnmatchcase(name, pattern)]
        if not hits:
            raise unknown("domain", pattern, dataset.domains)
        found |= dict.fromkeys(hits)
    return list(found)


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
    chosen = [domains[k] for k in spread(np.arange(len(domains)), rows)]
    return [
        Row(domain, [Tile(image, colours[y], names[y]) for image, y in _with_labels(dataset, domain, index)])
        for domain in chosen
    ]


def clip_rows(
    dataset: Dataset, clips: IntArray, names: Sequence[str], domain: str, rows: int, columns: int
) -> list[Row]:
    """Clips spread over the data set, each with frames spread over it."""
    colours = class_colours(dataset.num_classes)
    made = []
    for clip in spread(np.unique(clips), rows):
        frames = np.flatnonzero(clips == clip)
        at = spread(np.arange(len(frames)), columns)
        pairs = zip(_with_labels(dataset, domain, frames[at]), at, strict=True)
        tiles = [Tile(image, colours[y], str(k)) for (image, y), k in pairs]
        made.append(Row(names[dataset.labels[frames[0]]], tiles, f"clip {clip}, {len(frames)} frames"))
    return made


def spread(values: IntArray, most: int) -> IntArray:
    """All of them, or so many evenly spread from the first to the last."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).round().astype(np.int64)]


def _with_labels(dataset: Dataset, domain: str, index: IntArray) -> list[tuple[Pixels, int]]:
    return list(zip(dataset.images(domain, index), dataset.labels[index].tolist(), strict=True))


def batch_rows(stream: Stream, names: Sequence[str], rows: int, columns: int) -> list[Row]:
    """Batches spread over the stream, each with its first samples in order."""
    return [_row(stream, names, int(number), columns) for number in spread(np.arange(len(stream)), rows)]


def stream_clip_rows(stream: Stream, names: Sequence[str], rows: int, columns: int) -> list[Row]:
    """Clips spread over the stream in the order in which they arrive, each with frames spread over it."""
    ends, colours = np.append(stream.clip_starts, stream.num_samples), class_colours(stream.num_classes)
    made = []
    for clip in spread(np.arange(len(ends) - 1), rows):
        begin, length = int(ends[clip]), int(ends[clip + 1] - ends[clip])
        at, y = spread(np.arange(length), columns), int(stream.label[begin])
        tiles = [Tile(image, colours[y], str(k)) for image, k in zip(_images(stream, begin + at), at, strict=True)]
        where = stream.domains[stream.domain[begin]]
        made.append(Row(f"{clip}: {names[y]}", tiles, f"{where}, {length} frames"))
    return made


def _row(stream: Stream, names: Sequence[str], number: int, columns: int) -> Row:
    batch = stream.batches[number]
    at = np.arange(batch.start, min(batch.stop, batch.start + columns))
    colours = [*class_colours(stream.num_classes), FAINT]  # the last ones are those of foreign samples, label -1
    names = [*names, "foreign"]
    tiles = [
        Tile(image, colours[y], names[y])
        for image, y in zip(_images(stream, at), stream.label[at].tolist(), strict=True)
    ]
    domains = list(dict.fromkeys(stream.domains[k] for k in stream.domain[batch]))
    where = domains[0] if len(domains) == 1 else f"{domains[0]} and {len(domains) - 1} more"
    return Row(f"batch {number}", tiles, where)


def _images(stream: Stream, at: IntArray) -> list[Pixels]:
    """The pictures of these samples."""
    return list(shown(stream.dataset, ([stream.domains[k] for k in stream.domain[at]], stream.index[at])))
