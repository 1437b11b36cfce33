"""The rows of a contact sheet of a stream: its batches or clips in order, each in the colour of its class."""

from collections.abc import Sequence

import numpy as np

from gotta.show.contact_sheet import FAINT, Pixels, Row, Tile, class_colours
from gotta.show.dataset_rows import spread
from gotta.streams.stream import Stream
from gotta.types import IntArray


def batch_rows(stream: Stream, names: Sequence[str], rows: int, columns: int) -> list[Row]:
    """Batches spread over the stream, each with its first samples in order."""
    return [_row(stream, names, int(number), columns) for number in spread(np.arange(len(stream)), rows)]


def clip_rows(stream: Stream, names: Sequence[str], rows: int, columns: int) -> list[Row]:
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
    """The pictures of these samples, read domain by domain."""
    found: dict[int, Pixels] = {}
    for visit in np.unique(stream.domain[at]):
        here = at[stream.domain[at] == visit]
        found |= dict(zip(here.tolist(), stream.dataset.images(stream.domains[visit], stream.index[here]), strict=True))
    return [found[t] for t in at.tolist()]
