"""RoTTA: a slow teacher with robust statistics, and a student that learns from it (Yuan et al., CVPR 2023)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import torch
from torch import Tensor, nn

from gotta.methods.method import Method, methods
from gotta.methods.parts.augment import augment
from gotta.methods.parts.losses import soft_cross_entropy
from gotta.methods.parts.params import train_affine
from gotta.methods.parts.teacher import follow, frozen_copy
from gotta.methods.settings import Preset, Presets, Texts
from gotta.statistics import Running
from gotta.statistics.normalization import ReplacedBatchNorm, replace_batch_norms, widen
from gotta.types import MemoryBatch


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


@methods.register("rotta")
class Rotta(Method):
    """The student sees the memory augmented and learns what the teacher says of it; fresh samples count most."""

    native = Running(fed_by="memory", rate=0.05)
    paired = Running(fed_by="memory", rate=0.05)
    presets: ClassVar[Presets] = {
        "official": Preset("the authors'", lr=1e-3, optimizer="adam", nu=0.001),
        "imagenet-resnet50": Preset("chosen here: those of CIFAR"),
        "imagenet-vit": Preset("chosen here: those of CIFAR"),
    }
    inputs: ClassVar[Texts] = {
        "augment": "in place of the random augmentation of what the student sees: a function of the batch"
    }

    layer: ClassVar[type[RobustBN]] = RobustBN

    def configure(self) -> torch.optim.Optimizer:
        replace_batch_norms(self.model, self.layer)
        self.teacher = frozen_copy(self.model)
        return self.make_optimizer(train_affine(self.model, type(self).__name__.lower()))

    def networks(self) -> dict[str, nn.Module]:
        return {"model": self.model, "teacher": self.teacher}

    def changing(self) -> list[Tensor]:
        names = self.trained
        return [*names.values(), *(self.teacher.get_parameter(name) for name in names)]

    @property
    def predictor(self) -> nn.Module:
        return self.teacher

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        with torch.no_grad():
            target = self.training_logits(batch.x, self.teacher).detach()
        changed = augment(batch.x, self.hyper.augment, self.generators["augment"])
        student = self.training_logits(changed)
        loss = (self.weigh(batch).to(student) * soft_cross_entropy(student, target)).mean()
        self.descend(loss)
        names = self.trained
        follow((self.teacher.get_parameter(name) for name in names), names.values(), self.hyper.nu)
        return {"loss": float(loss.detach())}

    def weigh(self, batch: MemoryBatch) -> Tensor:
        """exp(-a) / (1 + exp(-a)) of the age a in units of the capacity."""
        return torch.sigmoid(-batch.age.to(next(self.model.parameters())) / batch.capacity)

    @contextmanager
    def _training_mode(self, net: nn.Module, moving: bool = True) -> Iterator[None]:
        if self.moves_statistics and self.statistics.fed_by == "batch":
            yield  # the statistics come from the test batches alone, and RobustBN trains with those there are
        else:
            with super()._training_mode(net, moving):
                yield
