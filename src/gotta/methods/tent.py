"""TENT: entropy minimisation of the normalisation layers' weight and bias (Wang et al., ICLR 2021)."""

import torch
from torch import nn

from gotta.errors import GottaError
from gotta.methods.losses import entropy
from gotta.methods.method import Method, Statistics, methods
from gotta.methods.normalization import affine_parameters
from gotta.methods.params import make_optimizer, train_affine
from gotta.types import MemoryBatch


@methods.register("tent")
class Tent(Method):
    """One step on the mean entropy of the samples, under their own statistics."""

    native = Statistics("batch")
    paired = Statistics("batch")

    def __init__(
        self,
        model: nn.Module,
        statistics: Statistics | None = None,
        embed: str = "probs",
        lr: float = 1e-3,
        optimizer: str = "adam",
    ) -> None:
        self.lr, self.optimizer_name = lr, optimizer
        super().__init__(model, statistics, embed)

    def check(self, model: nn.Module) -> None:
        if not affine_parameters(model):
            raise GottaError(
                "method 'tent' trains weight and bias of normalisation layers, and this model has none. Use 'source', "
                "or a model with BatchNorm, GroupNorm or LayerNorm."
            )

    def configure(self) -> torch.optim.Optimizer:
        return make_optimizer(self.optimizer_name, train_affine(self.model), self.lr)

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        loss = entropy(self.training_logits(batch.x)).mean()
        self.descend(loss)
        return {"loss": float(loss.detach())}
