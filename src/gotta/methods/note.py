"""NOTE: instance-aware normalisation, a balanced memory, gentle entropy minimisation (Gong et al., NeurIPS 2022)."""

from math import prod, sqrt

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim import Optimizer

from gotta.methods.method import Preset, methods
from gotta.methods.trained import Trained
from gotta.statistics import Batch, Running
from gotta.statistics.normalization import (
    ONE_VALUE,
    ReplacedBatchNorm,
    moments,
    per_channel,
    replace_batch_norms,
    widen,
)
from gotta.types import MemoryBatch


@methods.register("note")
class Note(Trained):
    """One step on the entropy of the memory, whose forward also moves the running statistics that predict."""

    native = Batch()
    paired = Running(fed_by="memory", rate=0.01)
    presets = {
        "official": Preset("the authors'", lr=1e-4, optimizer="adam", weight_decay=0.0, iabn=True, k=4.0),
        "imagenet-resnet50": Preset("the authors', who gave them for ResNet-18"),
        "imagenet-vit": Preset("chosen here: those of CIFAR"),
    }
    known_quirks = {"weight_decay": "a weight decay of 0 counts as not given, and 5e-4 is used"}

    def configure(self) -> Optimizer | None:
        if self.hyper.iabn:
            replace_batch_norms(self.model, lambda layer: IABN(layer, self.hyper.k))
        return super().configure()

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        probs = self.training_logits(batch.x).softmax(1)
        return self.descend(-(probs * (probs + 1e-6).log()).mean())  # over classes, too: 1/C of the usual entropy


class IABN(ReplacedBatchNorm):
    """BatchNorm whose mean and variance give way, per sample, to its own where those are off by more than chance.

    The batch's (in training) or the running statistics are the centre; `k` counts the standard errors of a sample's
    mean and variance over its L positions that are put down to chance. All variances are unbiased.
    """

    def __init__(self, layer: _BatchNorm, k: float = 4.0) -> None:
        super().__init__(layer)
        self.k = k

    def forward(self, x: Tensor) -> Tensor:
        if self.plain and not self.sees_batch:
            return self.with_running_statistics(x)
        wide = widen(x)
        mean, var = (per_channel(value, x) for value in self._centre(wide))
        places = prod(x.shape[2:])
        if places > 1:
            own_mean, own_var = moments(wide, tuple(range(2, x.ndim)), unbiased=True, keepdim=True)
            spread = var + self.eps
            mean = mean + shrink(own_mean - mean, self.k * (spread / places).sqrt())
            var = (var + shrink(own_var - var, self.k * spread * sqrt(2 / (places - 1)))).relu()
        # Where no gradient needs the steps between, the large tensor is written in its place: a third of the time.
        times, plus = (Tensor.mul, Tensor.add) if torch.is_grad_enabled() else (Tensor.mul_, Tensor.add_)
        out = times(wide - mean, (var + self.eps).rsqrt())
        if self.affine:
            out = plus(times(out, per_channel(self.weight, x)), per_channel(self.bias, x))
        return out.to(x.dtype)

    def _centre(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if not self.sees_batch:
            return self.running
        if x.numel() == x.shape[1]:
            raise ValueError(f"{ONE_VALUE}, got input size {list(x.shape)}")
        mean, var = self.batch_moments(x, unbiased=True)
        if self.moves:
            for own, new in zip(self.running, (mean, var), strict=True):
                own.lerp_(new.detach().to(own), self.rate)
        return mean, var


def shrink(value: Tensor, by: Tensor) -> Tensor:
    """Nearer to 0 by that much, and 0 within it."""
    return value.sign() * (value.abs() - by).relu()
