"""Balanced BatchNorm of TRIBE (Su et al., AAAI 2024): statistics of each class, all classes counting alike."""

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from gotta.statistics.normalization import ReplacedBatchNorm, sample_moments, widen


class BalancedBN(ReplacedBatchNorm):
    """In training each class's mean and variance first move to its samples, then their average normalises the batch.

    Whoever runs it says before which classes the samples have (`label`); without that the running statistics move to
    the batch as they are. The gradient flows through the batch's share. Where nothing may move, the batch normalises.
    """

    def __init__(self, layer: _BatchNorm, classes: int, share: float) -> None:
        super().__init__(layer)
        self.share, self.label = share, None
        if self.running_mean is not None and self.running_var is not None:
            self.register_buffer("class_mean", self.running_mean.expand(classes, -1).clone())
            self.register_buffer("class_var", self.running_var.expand(classes, -1).clone())

    label: Tensor | None
    class_mean: Tensor
    class_var: Tensor

    def forward(self, x: Tensor) -> Tensor:
        label, self.label = self.label, None
        if not self.sees_batch:
            return self.with_running_statistics(x)
        if not self.moves:
            mean, var = self.batch_moments(widen(x))
        else:
            mean, var = self.move_classes(widen(x), label) if label is not None else self.move(widen(x))
            assert self.running_mean is not None
            assert self.running_var is not None
            self.running_mean.copy_(mean.detach())
            self.running_var.copy_(var.detach())
        scale = (var + self.eps).rsqrt()
        return self.scaled(x, scale, -mean * scale)

    def move(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The running statistics, moved to the batch."""
        mean, var = self.batch_moments(x)
        assert self.running_mean is not None
        assert self.running_var is not None
        assert self.momentum is not None
        return torch.lerp(self.running_mean, mean, self.momentum), torch.lerp(self.running_var, var, self.momentum)

    def move_classes(self, x: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """Those of all classes together, after each class there has moved to its samples.

        A sample counts by the rate, or by one over the samples of its class where these are too many for that. Classes
        that are not there take a share of the mean move of the others.
        """
        assert self.momentum is not None
        classes = torch.bincount(label).nonzero().flatten()
        place = torch.searchsorted(classes, label)
        count = torch.bincount(place, minlength=len(classes)).to(x)[:, None]
        rate = torch.where(count > 1 / self.momentum, 1 / count, self.momentum)
        off = x - self.class_mean[label].to(x).reshape(len(x), -1, *([1] * (x.ndim - 2)))
        first, second = sample_moments(off)
        by_class = first.new_zeros(len(classes), first.shape[1])
        step = rate * by_class.index_add(0, place, first)
        spread = rate * by_class.index_add(0, place, second) - step**2
        keep = torch.zeros(len(self.class_mean), 1, dtype=x.dtype, device=x.device)
        alone = (1 - self.share) * step
        mean = self.class_mean.to(x).index_add(0, classes, alone) + self.share * step.mean(0, keepdim=True)
        forgotten = keep.index_add(0, classes, (1 - self.share) * rate * count)
        var = self.class_var.to(x) * (1 - forgotten)
        var = var.index_add(0, classes, (1 - self.share) * spread)
        var = var + self.share * (spread.mean(0, keepdim=True) - (rate * count).mean() * var)
        self.class_mean.copy_(mean.detach())
        self.class_var.copy_(var.detach())
        between = mean.var(0) if len(mean) > 1 else torch.zeros_like(mean[0])
        return mean.mean(0), var.mean(0) + between
