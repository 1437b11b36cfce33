"""The rows of a contact sheet of a stream: its batches in order, each sample in the colour of its class."""

from collections.abc import Sequence

import numpy as np

from gotta.sheet import Pixels, Row, Tile, class_colours
from gotta.streams.stream import Stream
from gotta.types import IntArray


def batch_rows(stream: Stream, names: Sequence[str], rows: int, columns: int) -> list[Row]:
    """Batches spread over the stream, each with its first samples in order."""
    numbers = np.arange(len(stream))
    if len(stream) > rows:
        numbers = np.linspace(0, len(stream) - 1, rows).round().astype(np.int64)
    return [_row(stream, names, int(number), columns) for number in numbers]


def _row(stream: Stream, names: Sequence[str], number: int, columns: int) -> Row:
    batch = stream.batches[number]
    at = np.arange(batch.start, min(batch.stop, batch.start + columns))
    colours = class_colours(stream.num_classes)
    tiles = [
        Tile(image, colours[y], names[y])
        for image, y in zip(_images(stream, at), stream.label[at].tolist(), strict=True)
    ]
    domains = list(dict.fromkeys(stream.domains[k] for k in stream.domain[batch]))
    where = domains[0] if len(domains) == 1 else f"{domains[0]} and {len(domains) - 1} more"
    return Row(f"batch {number}", tiles, where)


def _images(stream: Stream, at: IntArray) -> list[Pixels]:
    """The pictures of these samples, read domain by domain."""
    found: dict[int, Pixels] = {}
    for visit in np.unique(stream.domain[at]):
        here = at[stream.domain[at] == visit]
        found |= dict(zip(here.tolist(), stream.dataset.images(stream.domains[visit], stream.index[here]), strict=True))
    return [found[t] for t in at.tolist()]
