"""DELTA: renormalised batches, and rare classes that count for more (Zhao et al., ICLR 2023)."""

import torch
from torch import Tensor, nn

from gotta.methods.method import Preset, methods
from gotta.methods.parts.losses import margin
from gotta.methods.trained import Trained
from gotta.state import Sized, count
from gotta.statistics import Running
from gotta.statistics.interface import Lent
from gotta.statistics.normalization import ReplacedBatchNorm, batch_statistics, replace_batch_norms, widen
from gotta.types import MemoryBatch


@methods.register("delta")
class Delta(Trained):
    """One step on the entropy of sure samples, weighted by how sure they are and how rarely their class is predicted.

    Samples are trained on under the running statistics that also predict, and that move with them.
    """

    native = paired = Running(fed_by="memory", rate=0.05)
    presets = {
        "official": Preset(
            "chosen here: TENT's optimizer, the rest from the authors, who gave ImageNet's",
            lr=1e-3,
            optimizer="adam",
            e_margin=None,
            weighting=True,
            class_momentum=0.95,
            loss="entropy",
        ),
        "imagenet-resnet50": Preset("the authors'", lr=2.5e-4, optimizer="sgd"),
        "imagenet-vit": Preset("chosen here: the learning rate of TENT", lr=1e-3, optimizer="sgd"),
    }
    known_quirks = {"first_batch": "the running statistics begin as those of the first samples"}
    remembers = {"frequency": Sized("classes"), "turn": count}
    frequency: Tensor | None = None
    turn = 0

    def configure(self) -> torch.optim.Optimizer | None:
        replace_batch_norms(self.model, RenormBN)
        return super().configure()

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        logits = self.training_logits(batch.x)
        self.turn += 1
        uncertain = self.entropy(logits)
        weight = self.weigh(logits.detach())
        kept = torch.ones_like(weight, dtype=torch.bool)
        if self.hyper.weighting:
            sure = (margin(self.hyper.e_margin, logits, 0.5) - uncertain.detach()).exp()
            weight, kept = weight * sure, sure > 1
        measured = {"kept": float(kept.sum())}
        if kept.any():
            measured |= self.descend((weight * uncertain)[kept].mean())
        return measured

    def weigh(self, logits: Tensor) -> Tensor:
        """One over how often the predicted class was predicted so far; 1 on average. Then these samples count, too."""
        probs = logits.softmax(1)
        before = torch.full_like(probs[0], 1 / len(probs[0])) if self.frequency is None else self.frequency.to(probs)
        weight = before.reciprocal()[probs.argmax(1)]
        self.frequency = before + (1 - self.hyper.class_momentum) * (probs.mean(0) - before)
        return weight / weight.mean()

    @property
    def begins(self) -> bool:
        """Whether there are no running statistics yet."""
        return "first_batch" in self.quirks and not self.turn and self.moves_statistics

    def _prediction_mode(self, net: nn.Module) -> Lent:
        return batch_statistics(net, 0.0) if self.begins else super()._prediction_mode(net)

    def _training_mode(self, net: nn.Module, moving: bool = True) -> Lent:
        return batch_statistics(net, 1.0) if self.begins and moving else super()._training_mode(net, moving)


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
            (running_mean, running_var), rate = self.running, self.rate
            with torch.no_grad():
                old_mean, old_std = running_mean.clone(), (running_var + self.eps).sqrt()
                running_mean.lerp_(mean.detach().to(old_mean), rate)
                moved = old_std.lerp(std.detach().to(old_std), rate)
                running_var.copy_((moved**2 - self.eps).clamp(min=0))
                stretch, offset = std / old_std, (mean - old_mean) / old_std
            if rate < 1:
                scale, shift = scale * stretch, shift * stretch + offset
        return self.scaled(x, scale, shift)
