"""Random numbers that belong to an image, not to its place in a batch."""

from collections.abc import Callable, Iterator
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gotta.types import IntArray

Shape = tuple[int, ...]


def derive_seed(seed: int, copy: int) -> int:
    """The seed of the k-th copy of images; copy 0 has the seed itself."""
    return seed if copy == 0 else int(np.random.SeedSequence([seed, copy]).generate_state(1)[0])


class Draws:
    """One counter-based generator per image, keyed by seed, corruption, severity and the image's index.

    Every call draws, for each image, from a part of its stream that no other call touches.
    """

    def __init__(self, seed: int, name: str, severity: int, index: IntArray) -> None:
        base = np.random.SeedSequence([seed, crc32(name.encode()), severity]).generate_state(1, np.uint64)[0]
        self._index = index.astype(np.uint64)
        self._bits = np.random.Philox(key=np.array([base, 0], dtype=np.uint64))
        self._numbers = np.random.Generator(self._bits)
        self._start = self._bits.state
        self._calls = 0

    def _turns(self) -> Iterator[int]:
        """Move the generator to the stream of each image in turn; moving it costs a tenth of building one."""
        state = self._start["state"]
        state["counter"][2] = self._calls
        self._calls += 1
        for row, index in enumerate(self._index):
            state["key"][1] = index
            self._bits.state = self._start
            yield row

    def _floats(self, draw: Callable[..., object], shape: Shape) -> NDArray[np.float32]:
        out = np.empty((len(self._index), *shape), np.float32)
        for row in self._turns():
            draw(dtype=np.float32, out=out[row])
        return out

    def normal(self, *shape: int) -> NDArray[np.float32]:
        return self._floats(self._numbers.standard_normal, shape)

    def uniform(self, *shape: int) -> NDArray[np.float32]:
        """Values in [0, 1)."""
        return self._floats(self._numbers.random, shape)

    def words(self, *shape: int) -> NDArray[np.uint32]:
        """32 random bits per element."""
        size = int(np.prod(shape))
        out = np.empty((len(self._index), -(-size // 2)), np.uint64)
        for row in self._turns():
            out[row] = self._bits.random_raw(out.shape[1])
        return out.view("<u4")[:, :size].astype(np.uint32, copy=False).reshape(-1, *shape)

    def below(self, bound: int, *shape: int) -> NDArray[np.int64]:
        """Integers in 0 .. bound - 1."""
        return (self.words(*shape).astype(np.int64) * bound) >> 32
