"""RoTTA: a slow teacher with robust statistics, and a student that learns from it (Yuan et al., CVPR 2023)."""

from contextlib import nullcontext

import torch
from torch import Tensor, nn

from gotta.methods.method import Preset, methods
from gotta.methods.parts.augment import augment
from gotta.methods.parts.losses import soft_cross_entropy
from gotta.methods.trained import Taught, frozen_copy
from gotta.statistics import Running
from gotta.statistics.interface import Lent
from gotta.statistics.normalization import ReplacedBatchNorm, replace_batch_norms
from gotta.types import MemoryBatch


class RobustBN(ReplacedBatchNorm):
    """In training the running mean and (biased) variance first move to the batch, then normalise this very batch.

    The gradient flows through the batch's share of them. Where nothing may move, the batch alone normalises.
    """

    foldable = True

    def move(self, x: Tensor) -> tuple[Tensor, Tensor]:
        (old_mean, old_var), (mean, var), rate = self.running, self.batch_moments(x), self.rate
        return (1 - rate) * old_mean + rate * mean, (1 - rate) * old_var + rate * var


class SteadyBN(RobustBN):
    """RobustBN as ResiTTA has it: no gradient flows through the statistics."""

    def batch_moments(self, x: Tensor, unbiased: bool = False) -> tuple[Tensor, Tensor]:
        return super().batch_moments(x.detach(), unbiased)


@methods.register("rotta")
class Rotta(Taught):
    """The student sees the memory augmented and learns what the teacher says of it; fresh samples count most."""

    native = paired = Running(fed_by="memory", rate=0.05)
    presets = {
        "official": Preset("the authors'", lr=1e-3, optimizer="adam", nu=0.001),
        "imagenet-resnet50": Preset("chosen here: those of CIFAR"),
        "imagenet-vit": Preset("chosen here: those of CIFAR"),
    }
    inputs = {"augment": "in place of the random augmentation of what the student sees: a function of the batch"}

    layer: type[RobustBN] = RobustBN

    def configure(self) -> torch.optim.Optimizer | None:
        replace_batch_norms(self.model, self.layer)
        self.teacher = frozen_copy(self.model)
        return super().configure()

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        with torch.no_grad():
            target = self.training_logits(batch.x, self.teacher).detach()
        changed = augment(batch.x, self.hyper.augment, self.generators["augment"])
        student = self.training_logits(changed)
        measured = self.descend((self.weigh(batch).to(student) * soft_cross_entropy(student, target)).mean())
        self.move_teacher(self.hyper.nu)
        return measured

    def weigh(self, batch: MemoryBatch) -> Tensor:
        """exp(-a) / (1 + exp(-a)) of the age a in units of the capacity."""
        return torch.sigmoid(-batch.age.to(next(self.model.parameters())) / batch.capacity)

    def _training_mode(self, net: nn.Module, moving: bool = True) -> Lent:
        # The statistics come from the test batches alone, and RobustBN trains with those there are.
        by_batch = self.moves_statistics and self.statistics.fed_by == "batch"
        return nullcontext() if by_batch else super()._training_mode(net, moving)
