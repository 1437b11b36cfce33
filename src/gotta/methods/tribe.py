"""TRIBE: statistics in which all classes count alike, and a teacher held near the source (Su et al., AAAI 2024)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from gotta.errors import GottaError
from gotta.heads import find_head
from gotta.methods.method import Preset, methods
from gotta.methods.parts.augment import augment
from gotta.methods.parts.losses import entropy, margin
from gotta.methods.trained import Taught, frozen_copy
from gotta.statistics import Running
from gotta.statistics.normalization import ReplacedBatchNorm, has_batch_norm, replace_batch_norms, sample_moments
from gotta.types import MemoryBatch


@methods.register("tribe")
class Tribe(Taught):
    """The student learns on augmented samples what the teacher says of sure ones; the teacher stays near the source.

    Student and teacher share their parameters and have statistics of their own, like the source, by class.
    """

    native = paired = Running(fed_by="memory", rate=0.01)
    presets = {
        "official": Preset("the authors'", lr=1e-3, optimizer="adam", margin=0.05, share=0.0, anchor_weight=0.5),
        "cifar100": Preset("the authors', who also take rate=0.05", margin=0.2, share=0.1),
        "imagenet-resnet50": Preset("the authors', who also take rate=0.5", lr=5e-4, margin=0.4, share=0.5),
        "imagenet-vit": Preset("chosen here: those of ResNet-50", lr=5e-4, margin=0.4),
    }
    inputs = {"augment": "in place of the random augmentation of what the student sees: a function of the batch"}
    known_quirks = {"step_on_empty": "without a sure sample the optimizer steps all the same, on momentum alone"}

    def configure(self) -> torch.optim.Optimizer | None:
        head = find_head(self.model)
        if head is None and has_batch_norm(self.model):
            raise GottaError("method 'tribe' needs a linear layer at the end that tells how many classes there are.")
        classes = 1 if head is None else len(head.weight)  # type: ignore[arg-type]
        replace_batch_norms(self.model, lambda layer: BalancedBN(layer, classes, self.hyper.share))
        optimizer = super().configure()
        self.anchor, self.teacher = frozen_copy(self.model), frozen_copy(self.model)
        share_parameters(self.model, self.teacher)
        return optimizer

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
            measured |= self.descend(loss)
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
        try:
            return super().forward(x)
        finally:
            self.label = None

    def move(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if self.label is not None:
            return self.move_classes(x, self.label)
        (old_mean, old_var), (mean, var), rate = self.running, self.batch_moments(x), self.rate
        return torch.lerp(old_mean, mean, rate), torch.lerp(old_var, var, rate)

    def move_classes(self, x: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """Those of all classes together, after each class there has moved to its samples.

        A sample counts by the rate, or by one over the samples of its class where these are too many for that. Classes
        that are not there take a share of the mean move of the others.
        """
        classes = torch.bincount(label).nonzero().flatten()
        place = torch.searchsorted(classes, label)
        count = torch.bincount(place, minlength=len(classes)).to(x)[:, None]
        rate = torch.where(count > 1 / self.rate, 1 / count, self.rate)
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
