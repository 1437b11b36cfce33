"""TENT: entropy minimisation of the normalisation layers' weight and bias (Wang et al., ICLR 2021)."""

from typing import ClassVar

import torch

from gotta.methods.method import Method, methods
from gotta.methods.parts.losses import choose_entropy
from gotta.methods.parts.params import train_affine
from gotta.methods.settings import Preset, Presets
from gotta.statistics import Batch
from gotta.types import MemoryBatch


@methods.register("tent")
class Tent(Method):
    """One step on the mean entropy of the samples, under their own statistics."""

    native = Batch()
    paired = Batch()
    averages = True
    presets: ClassVar[Presets] = {
        "official": Preset("the authors'", lr=1e-3, optimizer="adam", loss="entropy"),
        "tea": Preset("TEA's code, which has the same"),
        "imagenet-resnet50": Preset("the authors'", lr=2.5e-4, optimizer="sgd"),
        "imagenet-vit": Preset("those of SAR's code", lr=1e-3, optimizer="sgd"),
    }

    def configure(self) -> torch.optim.Optimizer:
        self.entropy = choose_entropy(self.hyper.loss)
        return self.make_optimizer(train_affine(self.model, "tent"))

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        logits = self.training_logits(batch.x)
        loss = self.entropy(logits).mean()
        self.descend(loss)
        return {"loss": float(loss.detach())}
