"""The random draws of Energy: made by a generator, or recorded ones in their place."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from gotta.errors import GottaError


class Draws(Protocol):
    """`turn` counts adaptations, `step` the steps within one. Images are uniform in [-1, 1]."""

    def buffer(self, size: int, image: Sequence[int]) -> Tensor: ...  # [size, ...]

    def indices(self, turn: int, size: int, count: int) -> Tensor: ...  # [count] in 0 .. size - 1

    def reinit(self, turn: int, share: float, count: int) -> Tensor: ...  # [count] bool

    def fresh(self, turn: int, count: int, image: Sequence[int]) -> Tensor: ...  # [count, ...]

    def noise(self, turn: int, step: int, steps: int, shape: Sequence[int]) -> Tensor: ...


class Random:
    """Drawn as they are asked for, whatever the turn."""

    def __init__(self, generator: torch.Generator) -> None:
        self.generator = generator

    def buffer(self, size: int, image: Sequence[int]) -> Tensor:
        return self._rand((size, *image)).mul_(2).sub_(1)

    def indices(self, turn: int, size: int, count: int) -> Tensor:
        return torch.randint(size, (count,), generator=self.generator)

    def reinit(self, turn: int, share: float, count: int) -> Tensor:
        return self._rand((count,)) < share

    def fresh(self, turn: int, count: int, image: Sequence[int]) -> Tensor:
        return self.buffer(count, image)

    def noise(self, turn: int, step: int, steps: int, shape: Sequence[int]) -> Tensor:
        return torch.randn(tuple(shape), generator=self.generator)

    def _rand(self, shape: tuple[int, ...]) -> Tensor:
        return torch.rand(shape, generator=self.generator)


class Recorded:
    """Looked up in arrays, which may be NumPy's."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.arrays = arrays

    def buffer(self, size: int, image: Sequence[int]) -> Tensor:
        return self._at("buffer").float().clone()

    def indices(self, turn: int, size: int, count: int) -> Tensor:
        return self._at("indices", turn).long()

    def reinit(self, turn: int, share: float, count: int) -> Tensor:
        return self._at("reinit", turn).bool()

    def fresh(self, turn: int, count: int, image: Sequence[int]) -> Tensor:
        return self._at("fresh")[self._at("fresh_batch") == turn]

    def noise(self, turn: int, step: int, steps: int, shape: Sequence[int]) -> Tensor:
        return self._at("noise", turn * steps + step)

    def _at(self, name: str, place: int | None = None) -> Tensor:
        if name not in self.arrays or (place is not None and place >= len(self.arrays[name])):
            where = "" if place is None else f" number {place}"
            raise GottaError(f"draws has no '{name}'{where}. Record every draw, or leave draws out.")
        return torch.as_tensor(self.arrays[name] if place is None else self.arrays[name][place])
