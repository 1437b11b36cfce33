"""NOTE: instance-aware normalisation, a balanced memory, gentle entropy minimisation (Gong et al., NeurIPS 2022)."""

from math import prod, sqrt
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from gotta.methods.method import Method, methods
from gotta.methods.parts.params import train_affine
from gotta.methods.settings import Preset, Presets, Texts
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
class Note(Method):
    """One step on the entropy of the memory, whose forward also moves the running statistics that predict."""

    native = Batch()
    paired = Running(fed_by="memory", rate=0.01)
    presets: ClassVar[Presets] = {
        "official": Preset("the authors'", lr=1e-4, optimizer="adam", weight_decay=0.0, iabn=True, k=4.0),
        "imagenet-resnet50": Preset("the authors', who gave them for ResNet-18"),
        "imagenet-vit": Preset("chosen here: those of CIFAR"),
    }
    known_quirks: ClassVar[Texts] = {"weight_decay": "a weight decay of 0 counts as not given, and 5e-4 is used"}

    def configure(self) -> torch.optim.Optimizer:
        if self.hyper.iabn:
            replace_batch_norms(self.model, lambda layer: IABN(layer, self.hyper.k))
        decay = self.hyper.weight_decay or (5e-4 if "weight_decay" in self.quirks else 0.0)
        return self.make_optimizer(train_affine(self.model, "note"), decay)

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        probs = self.training_logits(batch.x).softmax(1)
        loss = -(probs * (probs + 1e-6).log()).mean()  # over samples and classes: 1/C of the usual entropy
        self.descend(loss)
        return {"loss": float(loss.detach())}


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
        out = (wide - mean) * (var + self.eps).rsqrt()
        if self.affine:
            out = out * per_channel(self.weight, x) + per_channel(self.bias, x)
        return out.to(x.dtype)

    def _centre(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if not self.sees_batch:
            assert self.running_mean is not None
            assert self.running_var is not None
            return self.running_mean, self.running_var
        if x.numel() == x.shape[1]:
            raise ValueError(f"{ONE_VALUE}, got input size {list(x.shape)}")
        mean, var = self.batch_moments(x, unbiased=True)
        if self.moves:
            assert self.running_mean is not None
            assert self.running_var is not None
            assert self.momentum is not None
            self.running_mean.lerp_(mean.detach(), self.momentum)
            self.running_var.lerp_(var.detach(), self.momentum)
        return mean, var


def shrink(value: Tensor, by: Tensor) -> Tensor:
    """Nearer to 0 by that much, and 0 within it."""
    return value.sign() * (value.abs() - by).relu()
