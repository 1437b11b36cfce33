"""Copies of many small tensors, in few operations."""

from collections.abc import Sequence
from operator import is_

import torch
from torch import Tensor


class Copies:
    """The content of some tensors. Those of one type and device are copied in one row, which is much quicker."""

    @torch.no_grad()
    def __init__(self, tensors: Sequence[Tensor], earlier: "Copies | None" = None) -> None:
        """`earlier` copies of the very same tensors tell which of them are alike, which takes as long as to copy."""
        self.tensors = tensors
        same = earlier is not None and len(tensors) == len(earlier.tensors) and all(map(is_, tensors, earlier.tensors))
        self._alike: list[list[Tensor]] = earlier._alike if earlier is not None and same else sort_alike(tensors)
        self._rows = [(group, in_one_row(group)) for group in self._alike]

    @torch.no_grad()
    def back(self) -> None:
        """Write the content back into the tensors."""
        for group, row in self._rows:
            parts = torch.split(row, [value.numel() for value in group])
            for value, part in zip(group, parts, strict=True):
                value.copy_(part.view(value.shape))

    def finite(self) -> bool:
        """Whether all numbers are, with one answer from each device."""
        rows = [row for _, row in self._rows if row.is_floating_point() or row.is_complex()]
        return all(bool(torch.isfinite(row).all()) for row in rows)


def sort_alike(tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    alike: dict[tuple[torch.dtype, torch.device, int], list[Tensor]] = {}
    for tensor in tensors:
        alike.setdefault((tensor.dtype, tensor.device, tensor.ndim), []).append(tensor)
    return list(alike.values())


def in_one_row(alike: list[Tensor]) -> Tensor:
    """The numbers of tensors that have one number of dimensions."""
    if alike[0].ndim == 0:
        return torch.stack(alike)
    return torch.cat(alike if alike[0].ndim == 1 else [value.reshape(-1) for value in alike])
