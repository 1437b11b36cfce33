"""From what the user gives to checked columns on the CPU, with one transfer per batch from another device."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gotta.errors import GottaError, NotFinite

Given = Tensor | NDArray[Any] | Sequence[Any] | None
# What decisions are made on, where it was given: label [B] int64, uncertainty [B] float64, embedding [B, D],
# descriptor [B, K] float64.
Columns = dict[str, NDArray[Any]]


def receive(x: Any, given: Mapping[str, Given], num_classes: int, described: bool = False) -> tuple[Tensor, Columns]:
    """The samples as a tensor where they are, and the given columns, checked. Raises before anything was changed.

    If `described`, the descriptor is measured on the samples.
    """
    x = tensor("x", x)
    if x.ndim == 0 or len(x) == 0:
        raise GottaError(f"observe got an empty batch (x of shape {tuple(x.shape)}). Give at least one sample.")
    tensors = {name: tensor(name, value) for name, value in given.items() if value is not None}
    if described:
        tensors["descriptor"] = describe(x)
    for name, value in tensors.items():
        check_shape(name, value, len(x))
    if x.is_floating_point() or x.is_complex():
        # A sum is finite only if every part is; it needs one pass and no second array of the size of x.
        tensors["x"] = x.reshape(len(x), -1).sum(1, dtype=torch.promote_types(x.dtype, torch.float32))
    arrays = dict(zip(tensors, fetch(list(tensors.values())), strict=True))
    sums = arrays.pop("x", None)
    # The sum of finite numbers may overflow, so only the second look decides.
    if sums is not None and not np.isfinite(sums).all() and not bool(x.isfinite().all()):
        raise not_finite("x")
    return x, check_columns(arrays, num_classes)


def describe(x: Tensor) -> Tensor:
    """Mean and deviation of each channel over its positions: [B, C, ...] to [B, 2C]. A flat sample is one channel."""
    real = x.abs() if x.is_complex() else x
    channels = real.reshape(len(x), x.shape[1] if x.ndim > 2 else 1, -1).double()
    mean = channels.mean(2, keepdim=True)
    return torch.cat([mean[..., 0], (channels - mean).square().mean(2).sqrt()], 1)


def tensor(name: str, value: Any) -> Tensor:
    """A tensor of whatever was given, on its device, out of autograd. Floats that NumPy lacks become float32."""
    if isinstance(value, Tensor):
        check_plain(name, value)
        found: Tensor = value.detach()
        return found.float() if name != "x" and found.dtype == torch.bfloat16 else found
    try:
        array = np.asarray(value)
        plain = array.flags.writeable and array.flags.c_contiguous
        return torch.from_numpy(array if plain else array.copy())
    except (TypeError, ValueError) as error:
        raise GottaError(f"{name} must hold numbers in rows of one length: {error}.") from error


def check_plain(name: str, value: Tensor) -> None:
    """Raises unless the values of a tensor are at hand, one after the other."""
    if value.is_meta or value.is_quantized or value.is_nested or value.layout is not torch.strided:
        kind = "meta" if value.is_meta else "quantised" if value.is_quantized else "nested or sparse"
        raise GottaError(f"{name} is a {kind} tensor. Expected a dense one: to_dense() or dequantize() makes it one.")


def check_shape(name: str, value: Tensor, length: int) -> None:
    wide = name in ("embedding", "descriptor")
    expected = f"[{length}, D]" if wide else f"[{length}]"
    if value.ndim != (2 if wide else 1) or len(value) != length:
        raise GottaError(f"{name} must have shape {expected} for {length} samples, got {list(value.shape)}.")


def on_host(value: Tensor) -> bool:
    return value.device.type == "cpu"


def fetch(tensors: list[Tensor]) -> list[NDArray[Any]]:
    """All of them as NumPy arrays. Those on a device are joined, byte by byte, and moved together in one transfer."""
    away = [value for value in tensors if not on_host(value)]
    if not away:
        return [value.numpy() for value in tensors]
    parts = [value.reshape(len(value), -1).contiguous().view(torch.uint8) for value in away]
    packed = torch.cat(parts, 1).cpu().numpy()
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]
    moved = (unpack(block, value) for block, value in zip(np.split(packed, ends, 1), away, strict=True))
    return [value.numpy() if on_host(value) else next(moved) for value in tensors]


def unpack(block: NDArray[np.uint8], like: Tensor) -> NDArray[Any]:
    dtype = torch.empty(0, dtype=like.dtype).numpy().dtype
    return np.ascontiguousarray(block).view(dtype).reshape(like.shape)


def check_columns(arrays: Columns, num_classes: int) -> Columns:
    for name, column in arrays.items():
        kinds, numbers = ("iub", "whole") if name == "label" else ("fiub", "real")
        if column.dtype.kind not in kinds:
            raise GottaError(f"{name} must hold {numbers} numbers, got {column.dtype}.")
        if not np.isfinite(column).all():
            raise not_finite(name)
        if name == "label" and not 0 <= column.min() <= column.max() < num_classes:
            found = f"{column.min()}..{column.max()}"
            raise GottaError(f"label must be in 0..{num_classes - 1} for num_classes={num_classes}, got {found}.")
        if name != "embedding" or column.dtype.kind != "f":
            arrays[name] = column.astype(np.int64 if name == "label" else np.float64)
    return arrays


def not_finite(name: str) -> NotFinite:
    return NotFinite(f"{name} holds NaN or infinite values. The whole batch was left out; the memory is unchanged.")
