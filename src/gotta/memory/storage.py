"""Where the pixels of a memory live: on the samples' device, on another one, or in a memory-mapped file."""

import re
from functools import partial
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from gotta.errors import GottaError
from gotta.state import Back

DEVICE = re.compile(r"(cpu|cuda|mps|xpu|hpu|mtia)(:\d+)?")


def is_device(where: str | Path | None) -> bool:
    """Whether pixels kept there touch no file."""
    return where is None or DEVICE.fullmatch(str(where)) is not None


class Storage:
    """One tensor [capacity, ...], allocated when the first sample arrives."""

    exchanged: ClassVar[tuple[str, ...]] = ("pixels", "device")  # attributes that are state; rows are logged

    def __init__(self, capacity: int, where: str | Path | None = None) -> None:
        self.capacity, self.where = capacity, where
        self.pixels: Tensor | None = None
        self.log: list[Back] | None = None  # calls that bring pixels back, while somebody may want that
        self.device = torch.device("cpu")  # where samples come from and where they are read to

    def prepare(self, x: Tensor) -> None:
        """Make place for samples like these. Raises if they are unlike the stored ones."""
        if self.pixels is None:
            self.pixels = self._allocate(x)
        if self.where is None and self.pixels.device != x.device:  # loaded here, observed there
            self.pixels = self.pixels.to(x.device)
        if x.shape[1:] != self.pixels.shape[1:] or x.dtype != self.pixels.dtype:
            raise GottaError(
                f"samples of shape {list(x.shape[1:])} and {x.dtype} do not fit a memory of samples of shape "
                f"{list(self.pixels.shape[1:])} and {self.pixels.dtype}. Call reset() first, or use another memory."
            )

    def write(self, slots: Tensor, rows: Tensor, x: Tensor) -> None:
        """pixels[slots] = x[rows]; each slot occurs once."""
        assert self.pixels is not None, "prepare comes first"
        self.device = x.device
        chosen = x if len(rows) == len(x) else x.index_select(0, rows.to(x.device))
        slots = slots.to(self.pixels.device)
        if self.log is not None:  # before anything changes
            self.log.append(partial(self.pixels.index_copy_, 0, slots, self._look_up(slots, self.pixels)))
        self.pixels.index_copy_(0, slots, chosen.to(self.pixels.device))

    def read(self, slots: Tensor) -> Tensor:
        """A copy of these samples, on the device that samples come from."""
        if self.pixels is None:
            return torch.empty(0)
        return self.pixels.index_select(0, slots.to(self.pixels.device)).to(self.device)

    def _look_up(self, slots: Tensor, pixels: Tensor) -> Tensor:
        """What is about to be replaced; `benchmarks/step.py` times it as a part of undo."""
        return pixels.index_select(0, slots)

    def _allocate(self, x: Tensor) -> Tensor:
        shape = (self.capacity, *x.shape[1:])
        if is_device(self.where):
            return torch.empty(shape, dtype=x.dtype, device=x.device if self.where is None else str(self.where))
        size = torch.Size(shape).numel()
        try:
            return torch.from_file(str(self.where), shared=True, size=size, dtype=x.dtype).reshape(shape)
        except RuntimeError as error:
            raise GottaError(
                f"storage={str(self.where)!r} cannot hold {size} numbers of {x.dtype}: {error}."
            ) from error
