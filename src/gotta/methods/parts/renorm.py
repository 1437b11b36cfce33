"""Test-time batch renormalisation of DELTA (Zhao et al., ICLR 2023)."""

import torch
from torch import Tensor

from gotta.statistics.normalization import ReplacedBatchNorm, widen


class RenormBN(ReplacedBatchNorm):
    """In training a batch is normalised as by the running statistics, with the gradient of the batch's own.

    Then the running mean and deviation move to the batch. At a rate of 1 they begin as the batch's. Where nothing may
    move, the batch alone normalises.
    """

    def forward(self, x: Tensor) -> Tensor:
        if not self.sees_batch:
            return self.with_running_statistics(x)
        mean, var = self.batch_moments(widen(x))
        std = (var + self.eps).sqrt()
        scale, shift = std.reciprocal(), -mean / std
        if self.moves:
            rate = self.momentum
            assert self.running_mean is not None
            assert self.running_var is not None
            assert rate is not None
            with torch.no_grad():
                old_mean, old_std = self.running_mean.clone(), (self.running_var + self.eps).sqrt()
                self.running_mean.lerp_(mean.detach().to(old_mean), rate)
                moved = old_std.lerp(std.detach().to(old_std), rate)
                self.running_var.copy_((moved**2 - self.eps).clamp(min=0))
                stretch, offset = std / old_std, (mean - old_mean) / old_std
            if rate < 1:
                scale, shift = scale * stretch, shift * stretch + offset
        return self.scaled(x, scale, shift)
