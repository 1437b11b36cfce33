"""Images whose shapes are destroyed while their colours stay: what DeYO asks a network about."""

import torch
from torch import Tensor
from torch.nn import functional as F

DESTROYERS = ("patches", "pixels", "occlusion")
PATCHES = 4  # in a row and in a column


def destroy(x: Tensor, how: str, generator: torch.Generator) -> Tensor:
    """Samples [B, C, ...] with their `patches` or `pixels` in another order, or their middle painted over.

    Patches are shuffled in each image differently, pixels in all alike, as published. Samples that are not images have
    their positions shuffled, or their values where they have no positions.
    """
    if x.ndim != 4:
        return _shuffle_places(x, generator)
    if how == "occlusion":
        return _paint_over(x)
    return _shuffle_places(x, generator) if how == "pixels" else _shuffle_patches(x, generator)


def _shuffle_places(x: Tensor, generator: torch.Generator) -> Tensor:
    flat = x if x.ndim == 2 else x.flatten(2)
    order = torch.randperm(flat.shape[-1], generator=generator).to(x.device)
    return flat[..., order].reshape(x.shape)


def _shuffle_patches(x: Tensor, generator: torch.Generator) -> Tensor:
    """4 x 4 patches; an image whose sides are not multiples of that is scaled to one and back."""
    count, channels, height, width = x.shape
    tall, wide = (max(side // PATCHES, 1) for side in (height, width))
    even = _scale(x, (PATCHES * tall, PATCHES * wide))
    parts = even.reshape(count, channels, PATCHES, tall, PATCHES, wide).permute(0, 2, 4, 1, 3, 5).flatten(1, 2)
    order = torch.rand(count, PATCHES**2, generator=generator).argsort(1).to(x.device)
    parts = parts[torch.arange(count, device=x.device)[:, None], order]
    whole = parts.reshape(count, PATCHES, PATCHES, channels, tall, wide).permute(0, 3, 1, 4, 2, 5)
    return _scale(whole.reshape(even.shape), (height, width))


def _paint_over(x: Tensor) -> Tensor:
    """The middle, half as high and wide as the image, in the image's mean colour."""
    height, width = x.shape[2:]
    out = x.clone()
    top, left = height // 4, width // 4
    out[:, :, top : top + height // 2, left : left + width // 2] = x.mean((2, 3), keepdim=True)
    return out


def _scale(x: Tensor, size: tuple[int, int]) -> Tensor:
    if tuple(x.shape[2:]) == size:
        return x
    return F.interpolate(x, size, mode="bilinear", align_corners=False, antialias=True)
