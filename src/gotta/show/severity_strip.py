"""The strip below the picture of a walk: how one corruption fades while the other grows."""

import numpy as np
from numpy.typing import NDArray

from gotta.show.contact_sheet import Pixels, Rgb
from gotta.streams.stream import Stream
from gotta.types import read_pair

FIRST: Rgb = (70, 90, 120)
SECOND: Rgb = (226, 139, 64)
MOST = 10  # the largest sum of two severities


def severities(stream: Stream) -> NDArray[np.float64] | None:
    """[visits, 2], if each visit of the stream is to two corruptions."""
    pairs = [read_pair(name) for name in stream.domains]
    found = [(pair[0][1], pair[1][1]) for pair in pairs if pair is not None]
    return np.array(found) if len(found) == len(pairs) else None


def severity_strip(stream: Stream, levels: NDArray[np.float64], plot: int, height: int) -> Pixels:
    """The severity of the first corruption as a bar from the ground, that of the second on top of it."""
    at = stream.domain[np.arange(plot) * stream.num_samples // plot]
    first, both = (np.round(values * (height - 4) / MOST) for values in (levels[at, 0], levels[at].sum(1)))
    from_ground = np.arange(height, 0, -1)[:, None]
    strip = np.full((height, plot, 3), 255, np.uint8)
    strip[from_ground <= both[None]] = SECOND
    strip[from_ground <= first[None]] = FIRST
    return strip
