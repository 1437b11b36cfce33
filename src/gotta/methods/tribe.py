"""TRIBE: statistics in which all classes count alike, and a teacher held near the source (Su et al., AAAI 2024)."""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gotta.errors import GottaError
from gotta.heads import find_head
from gotta.methods.method import Method, methods
from gotta.methods.parts.augment import augment
from gotta.methods.parts.balanced_bn import BalancedBN
from gotta.methods.parts.losses import entropy, margin
from gotta.methods.parts.params import train_affine
from gotta.methods.parts.teacher import frozen_copy
from gotta.methods.settings import Preset, Presets, Texts
from gotta.statistics import Running
from gotta.statistics.normalization import has_batch_norm, replace_batch_norms
from gotta.types import MemoryBatch


@methods.register("tribe")
class Tribe(Method):
    """The student learns on augmented samples what the teacher says of sure ones; the teacher stays near the source.

    Student and teacher share their parameters and have statistics of their own, like the source, by class.
    """

    native = Running(fed_by="memory", rate=0.01)
    paired = Running(fed_by="memory", rate=0.01)
    presets: ClassVar[Presets] = {
        "official": Preset("the authors'", lr=1e-3, optimizer="adam", margin=0.05, share=0.0, anchor_weight=0.5),
        "cifar100": Preset("the authors', who also take rate=0.05", margin=0.2, share=0.1),
        "imagenet-resnet50": Preset("the authors', who also take rate=0.5", lr=5e-4, margin=0.4, share=0.5),
        "imagenet-vit": Preset("chosen here: those of ResNet-50", lr=5e-4, margin=0.4),
    }
    inputs: ClassVar[Texts] = {
        "augment": "in place of the random augmentation of what the student sees: a function of the batch"
    }
    known_quirks: ClassVar[Texts] = {
        "step_on_empty": "without a sure sample the optimizer steps all the same, on momentum alone"
    }

    def configure(self) -> torch.optim.Optimizer:
        head = find_head(self.model)
        if head is None and has_batch_norm(self.model):
            raise GottaError(
                "method 'tribe' keeps statistics by class, and this model has no linear layer that tells how many."
            )
        classes = 1 if head is None else len(head.weight)  # type: ignore[arg-type]
        replace_batch_norms(self.model, lambda layer: BalancedBN(layer, classes, self.hyper.share))
        parameters = train_affine(self.model, "tribe")
        self.anchor, self.teacher = frozen_copy(self.model), frozen_copy(self.model)
        share_parameters(self.model, self.teacher)
        return self.make_optimizer(parameters)

    def networks(self) -> dict[str, nn.Module]:
        return {"model": self.model, "teacher": self.teacher, "anchor": self.anchor}

    def changing(self) -> list[Tensor]:
        return list(self.trained.values())

    @property
    def predictor(self) -> nn.Module:
        return self.teacher

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        teacher = self.told_logits(batch.x, batch, self.teacher)
        changed = augment(batch.x, self.hyper.augment, self.generators["augment"])
        student = self.told_logits(changed, batch, self.model)
        with torch.no_grad():
            source = self.told_logits(batch.x, batch, self.anchor)
        sure = entropy(teacher.detach()) < margin(None, teacher, self.hyper.margin)
        measured = {"kept": float(sure.sum())}
        if sure.any():
            loss = F.cross_entropy(student[sure], teacher.detach()[sure].argmax(1))
            loss = loss + self.hyper.anchor_weight * F.mse_loss(teacher[sure], source[sure])
            self.descend(loss)
            measured["loss"] = float(loss.detach())
        elif "step_on_empty" in self.quirks:
            self.coast()
        return measured

    def told_logits(self, x: Tensor, batch: MemoryBatch, net: nn.Module) -> Tensor:
        """A forward that moves the statistics, with the classes that the samples are thought to have."""
        for layer in net.modules():
            if isinstance(layer, BalancedBN):
                layer.label = batch.label
        return self.training_logits(x, net)


def share_parameters(owner: nn.Module, other: nn.Module) -> None:
    """Make the parameters of one network those of another that is built alike."""
    for mine, theirs in zip(owner.modules(), other.modules(), strict=True):
        theirs._parameters.update(mine._parameters)
