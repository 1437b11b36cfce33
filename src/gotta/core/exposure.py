"""Limited exposure: which batches of a stream a method may adapt to. All of them are predicted and scored."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gotta.errors import GottaError
from gotta.limits import Count, Share, check_fields
from gotta.seeds import generator
from gotta.streams import Stream

SETTINGS = ("expose_every", "expose_share", "expose_first")  # their names in a regime


@dataclass(frozen=True)
class Exposure:
    """Every k-th batch, a share of the batches drawn at random, the first samples; of several, what all of them allow.

    The first samples are those of the stream or, where the model is reset at each domain, of each domain. A batch
    counts as a whole, so that never more samples than these are adapted to.
    """

    expose_every: Count | None = None
    expose_share: Share | None = None
    expose_first: Count | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def is_limited(self) -> bool:
        return any(getattr(self, name) is not None for name in SETTINGS)

    def steps(self, stream: Stream, seed: int) -> NDArray[np.bool_]:
        """Of each step whether its batch may be adapted to."""
        count, size = len(stream), stream.batch_size
        exposed = np.ones(count, bool)
        if self.expose_every is not None:
            exposed &= np.arange(count) % self.expose_every == 0
        if self.expose_share is not None:
            drawn = generator(seed, "exposure").permutation(count)[: max(1, round(self.expose_share * count))]
            exposed &= np.isin(np.arange(count), drawn)
        if self.expose_first is not None:
            begins = np.array(stream.starts if stream.spec.reset_at_domain else [0])
            stop = np.array([batch.stop for batch in stream.batches])
            exposed &= stop - begins[np.searchsorted(begins, stop - 1, side="right") - 1] <= self.expose_first
        if not exposed.any():
            raise GottaError(f"no batch of {size} samples may be adapted to with {self}. Use expose_first >= {size}.")
        return exposed

    def __str__(self) -> str:
        given = {name: getattr(self, name) for name in SETTINGS}
        return ", ".join(f"{name}={value}" for name, value in given.items() if value is not None)
