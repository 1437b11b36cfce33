"""SoTTA: confident samples, and an entropy that is low all around the parameters (Gong et al., NeurIPS 2023)."""

from typing import ClassVar

import torch

from gotta.methods.method import Method, methods
from gotta.methods.parts.losses import softened_entropy
from gotta.methods.parts.params import near_the_top, train_affine
from gotta.methods.parts.sam import displace
from gotta.methods.settings import Preset, Presets, Texts
from gotta.statistics import Running
from gotta.types import MemoryBatch


@methods.register("sotta")
class Sotta(Method):
    """One step on the entropy of the memory at the worst nearby point. The first forward moves the running statistics.

    Its own memory is `hus`, which takes only what the model is sure of.
    """

    native = Running(fed_by="memory", rate=0.2)
    paired = Running(fed_by="memory", rate=0.2)
    presets: ClassVar[Presets] = {
        "official": Preset("the authors'", lr=1e-3, optimizer="adam", rho=0.05, weight_decay=0.0),
        "imagenet-resnet50": Preset("the authors', who gave them for ResNet-18"),
        "imagenet-vit": Preset("chosen here: those of CIFAR"),
    }
    known_quirks: ClassVar[Texts] = {
        "weight_decay": "a weight decay of 0 counts as not given, and 5e-4 is used",
        "move_twice": "the second forward moves the running statistics once more",
    }

    def configure(self) -> torch.optim.Optimizer:
        decay = self.hyper.weight_decay or (5e-4 if "weight_decay" in self.quirks else 0.0)
        return self.make_optimizer(train_affine(self.model, "sotta", near_the_top(self.model)), decay)

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        loss = softened_entropy(self.training_logits(batch.x)).mean()
        self.backward(loss)
        with displace(list(self.trained.values()), self.hyper.rho):
            nearby = self.training_logits(batch.x, moving="move_twice" in self.quirks)
            sharp_loss = softened_entropy(nearby).mean()
            self.backward(sharp_loss)
        if torch.isfinite(sharp_loss):
            self.step()
        return {"loss": float(loss.detach()), "sharp_loss": float(sharp_loss.detach())}
