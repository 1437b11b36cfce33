"""RobustBN of RoTTA (Yuan et al., CVPR 2023): the running statistics normalise in training, too."""

from torch import Tensor

from gotta.statistics.normalization import ReplacedBatchNorm, widen


class RobustBN(ReplacedBatchNorm):
    """In training the running mean and (biased) variance first move to the batch, then normalise this very batch.

    The gradient flows through the batch's share of them. Where nothing may move, the batch alone normalises.
    """

    through_statistics = foldable = True

    def forward(self, x: Tensor) -> Tensor:
        if not self.sees_batch:
            return self.with_running_statistics(x)
        seen = x if self.through_statistics else x.detach()
        mean, var = self.batch_moments(widen(seen))
        if self.moves:
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.momentum is not None
            mean = (1 - self.momentum) * self.running_mean + self.momentum * mean
            var = (1 - self.momentum) * self.running_var + self.momentum * var
            self.running_mean.copy_(mean.detach())
            self.running_var.copy_(var.detach())
        scale = (var + self.eps).rsqrt()
        return self.scaled(x, scale, -mean * scale)


class SteadyBN(RobustBN):
    """RobustBN as ResiTTA has it: no gradient flows through the statistics."""

    through_statistics = False
