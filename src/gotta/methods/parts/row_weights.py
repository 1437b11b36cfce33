"""Rows that stand for several samples: what BatchNorm and losses make of a batch is what they would make of copies."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from gotta.statistics.normalization import ReplacedBatchNorm, moments, per_channel, widen


def average(values: Tensor, weight: Tensor | None) -> Tensor:
    """The mean of values [N] or [N, D] as one number; a row counts by its weight."""
    if weight is None:
        return values.mean()
    of_rows = values if values.ndim == 1 else values.mean(1)
    return (weight.to(of_rows) * of_rows).sum() / weight.to(of_rows).sum()


def average_rows(values: Tensor, weight: Tensor | None) -> Tensor:
    """The mean row of values [N, D]: [D]."""
    if weight is None:
        return values.mean(0)
    return (weight.to(values)[:, None] * values).sum(0) / weight.to(values).sum()


@contextmanager
def counting_rows(net: nn.Module, weight: Tensor | None) -> Iterator[None]:
    """Inside, a row of what BatchNorm is given counts by its weight in the statistics of the batch."""
    if weight is None:
        yield
        return
    replaced = [layer for layer in net.modules() if isinstance(layer, ReplacedBatchNorm)]
    for layer in replaced:
        layer.row_weight = weight
    try:
        with WeightedBatchNorm(weight):
            yield
    finally:
        for layer in replaced:
            layer.row_weight = None


class WeightedBatchNorm(TorchFunctionMode):
    """Every layer that normalises by the statistics of its batch, whatever its class, takes weighted ones."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = weight

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is F.batch_norm:
            return self.normalise(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def normalise(
        self,
        x: Tensor,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        training: bool = False,
        momentum: float = 0.1,
        eps: float = 1e-5,
    ) -> Tensor:
        if not training or len(x) != len(self.weight):
            return F.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps)
        wide, dims = widen(x), (0, *range(2, x.ndim))
        mean, var = moments(wide, dims, unbiased=False, weight=self.weight)
        if running_mean is not None and running_var is not None:
            count = float(self.weight.sum()) * x[0, 0].numel()
            with torch.no_grad():
                unbiased = var * count / max(count - 1, 1)
                running_mean.lerp_(mean.detach().to(running_mean), momentum)
                running_var.lerp_(unbiased.to(running_var), momentum)
        scale = (var + eps).rsqrt() if weight is None else (var + eps).rsqrt() * weight
        shift = -mean * scale if bias is None else bias - mean * scale
        return (wide * per_channel(scale, x) + per_channel(shift, x)).to(x.dtype)
