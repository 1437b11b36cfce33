"""The random augmentation that methods share, in plain torch: one draw for the whole batch, noise per pixel."""

import inspect
from collections.abc import Callable, Sequence
from math import cos, radians, sin
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from gotta.errors import GottaError

Augment = Callable[[Tensor], Tensor]
BORDER = 2  # half the width of the blur, which needs that many pixels around the image


def augment(x: Tensor, given: Augment | None, generator: torch.Generator, fine: bool = True) -> Tensor:
    """The batch changed by the given function, or at random; `fine` says whether blur and noise are part of that."""
    return random_augmentation(x, generator, fine) if given is None else given(x)


def augment_copy(x: Tensor, copy: int, given: Any, generator: torch.Generator) -> Tensor:
    """Copy number `copy`: by a function of the batch, of batch and number, by functions in turn, or at random."""
    if isinstance(given, Sequence):
        return augment(x, given[copy % len(given)], generator)
    if given is not None and len(inspect.signature(given).parameters) > 1:
        return given(x, copy)  # type: ignore[no-any-return]
    return augment(x, given, generator)


def random_augmentation(x: Tensor, generator: torch.Generator, fine: bool = True) -> Tensor:
    """Colours, a small turn, shift and zoom, blur, flip, noise, for images [B, C, H, W] in [0, 1].

    Images in another range are mapped to [0, 1] by the smallest and largest value of the batch, and back at the end.
    """
    if x.ndim != 4:
        way_out = "Pass augment=, a function that takes a batch and gives it changed."
        raise GottaError(f"the random augmentation is for images [B, C, H, W] (got {list(x.shape)}). {way_out}")
    low, high = (float(value) for value in torch.aminmax(x))
    low, span = (0.0, 1.0) if low >= 0 and high <= 1 else (low, max(high - low, 1e-8))
    out = colours((x - low) / span, generator) if span != 1.0 else colours(x, generator)
    out = warp(out, generator)
    out = blur(out, generator) if fine else out[:, :, BORDER:-BORDER, BORDER:-BORDER]
    if _uniform(0, 1, generator) < 0.5:
        out = out.flip(3)
    if fine:
        out = out.add(torch.randn(out.shape, generator=generator).to(out), alpha=0.005)
    out = out.clamp(0, 1)
    return out * span + low if span != 1.0 else out


def colours(x: Tensor, generator: torch.Generator) -> Tensor:
    """Brightness, contrast, saturation, hue and gamma, in a random order."""
    factors = {
        brightness: _uniform(0.6, 1.4, generator),
        contrast: _uniform(0.7, 1.3, generator),
        saturation: _uniform(0.5, 1.5, generator),
        hue: _uniform(-0.06, 0.06, generator),
        gamma: _uniform(0.7, 1.3, generator),
    }
    changes = list(factors)
    for index in torch.randperm(len(changes), generator=generator).tolist():
        x = changes[index](x, factors[changes[index]])
    return x


def brightness(x: Tensor, factor: float) -> Tensor:
    return (x * factor).clamp(0, 1)


def contrast(x: Tensor, factor: float) -> Tensor:
    return torch.lerp(grey(x).mean((1, 2, 3), keepdim=True), x, factor).clamp(0, 1)


def saturation(x: Tensor, factor: float) -> Tensor:
    return torch.lerp(grey(x), x, factor).clamp(0, 1) if x.shape[1] == 3 else x


def gamma(x: Tensor, factor: float) -> Tensor:
    return x.clamp(1e-8, 1) ** factor


def hue(x: Tensor, turn: float) -> Tensor:
    """Turn the hue by a share of the circle, value and saturation kept."""
    if x.shape[1] != 3:
        return x
    value, low = x.amax(1), x.amin(1)
    chroma = value - low
    red, green, blue = x.unbind(1)
    safe = chroma.clamp(min=1e-12)
    sector = torch.where(
        value == red,
        (green - blue) / safe,
        torch.where(value == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    sector = sector + 6 * turn
    # Each channel falls from the value by a trapezoid of the distance of the hue to its own.
    place = torch.stack([sector + shift for shift in (5, 3, 1)], 1).remainder(6)
    fall = torch.minimum(place, 4 - place).clamp(0, 1)
    return value[:, None] - chroma[:, None] * fall


def warp(x: Tensor, generator: torch.Generator) -> Tensor:
    """Turn by up to 15 degrees, shift by up to an eighth, zoom by up to a tenth, with the edge repeated outside.

    The published order pads by half the size, warps (shifts of 1/16 of the padded size), blurs and crops. Sampling with
    the edge repeated gives the same pixels without the padding; a border for the blur is sampled along.
    """
    height, width = x.shape[2:]
    angle = radians(_uniform(-15, 15, generator))
    across, down = (round(_uniform(-size / 8, size / 8, generator)) for size in (width, height))
    scale = _uniform(0.9, 1.1, generator)
    rows = torch.arange(-BORDER, height + BORDER, device=x.device) - (height - 1) / 2 - down
    columns = torch.arange(-BORDER, width + BORDER, device=x.device) - (width - 1) / 2 - across
    at_row = (cos(angle) * rows[:, None] - sin(angle) * columns[None]) / scale
    at_column = (sin(angle) * rows[:, None] + cos(angle) * columns[None]) / scale
    grid = torch.stack([at_column * 2 / width, at_row * 2 / height], -1).to(x)
    return F.grid_sample(x, grid.expand(len(x), -1, -1, -1), "bilinear", "border", align_corners=False)


def blur(x: Tensor, generator: torch.Generator) -> Tensor:
    """A Gaussian of 5 x 5 pixels; the border is used up."""
    sigma = _uniform(0.001, 0.5, generator)
    line = torch.exp(-0.5 * (torch.arange(-BORDER, BORDER + 1) / sigma) ** 2).to(x)
    line = (line / line.sum()).expand(x.shape[1], 1, 1, -1)
    x = F.conv2d(x, line, groups=x.shape[1])
    return F.conv2d(x, line.transpose(2, 3), groups=x.shape[1])


def grey(x: Tensor) -> Tensor:
    if x.shape[1] != 3:
        return x.mean(1, keepdim=True)
    red, green, blue = x.unbind(1)
    return (0.2989 * red + 0.587 * green + 0.114 * blue)[:, None]


def _uniform(low: float, high: float, generator: torch.Generator) -> float:
    return low + (high - low) * float(torch.rand((), generator=generator))
