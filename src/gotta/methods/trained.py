"""What methods that train share: which parameters, by which loss, and a teacher that predicts."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from gotta.methods.method import Method
from gotta.methods.parts.losses import ENTROPIES
from gotta.methods.parts.params import near_the_top, train_affine
from gotta.statistics import Batch, Statistics


class Trained(Method):
    """Trains weight and bias of the normalisation layers, under the statistics of the batch, as most methods do.

    `loss` of a preset says what `self.entropy` is, `weight_decay` what the optimizer takes off.
    """

    native: ClassVar[Statistics] = Batch()
    paired: ClassVar[Statistics] = Batch()
    spares_top: ClassVar[bool] = False  # whether layers near the output stay as they are
    choices = {"loss": ENTROPIES}
    entropy: Callable[[Tensor], Tensor]  # of logits [B, C], what is minimised and selected by: [B]

    def configure(self) -> Optimizer | None:
        self.entropy = ENTROPIES[getattr(self.hyper, "loss", "entropy")]
        skip = near_the_top(self.model) if self.spares_top else lambda name: False
        decay = getattr(self.hyper, "weight_decay", 0.0) or (5e-4 if "weight_decay" in self.quirks else 0.0)
        return self.make_optimizer(train_affine(self.model, self.name, skip), decay)


class Taught(Trained):
    """A student is trained, and its teacher predicts: a copy that follows it. An `anchor` stays at the source."""

    teacher: nn.Module
    anchor: nn.Module  # of methods that look back at it

    def networks(self) -> dict[str, nn.Module]:
        return {name: getattr(self, name) for name in ("model", "teacher", "anchor") if hasattr(self, name)}

    def changing(self) -> list[Tensor]:
        names = self.trained
        own = [*names.values(), *(self.teacher.get_parameter(name) for name in names)]
        return list(dict.fromkeys(own))  # a teacher may share them

    @property
    def predictor(self) -> nn.Module:
        return self.teacher

    def move_teacher(self, share: float) -> None:
        """Towards the student, by that share."""
        names = self.trained
        follow((self.teacher.get_parameter(name) for name in names), names.values(), share)


def frozen_copy(model: nn.Module) -> nn.Module:
    """A copy that is not trained: a teacher that follows slowly, an anchor that stays."""
    return deepcopy(model).requires_grad_(False)


@torch.no_grad()
def follow(teacher: Iterable[Tensor], student: Iterable[Tensor], share: float) -> None:
    """teacher = (1 - share) teacher + share student, parameter by parameter. Buffers are left alone."""
    for slow, fast in zip(teacher, student, strict=True):
        slow.mul_(1 - share).add_(fast, alpha=share)
