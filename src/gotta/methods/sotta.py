"""SoTTA: confident samples, and an entropy that is low all around the parameters (Gong et al., NeurIPS 2023)."""

import torch

from gotta.methods.method import Preset, methods
from gotta.methods.parts.losses import softened_entropy
from gotta.methods.parts.params import displace
from gotta.methods.trained import Trained
from gotta.statistics import Running
from gotta.types import MemoryBatch


@methods.register("sotta")
class Sotta(Trained):
    """One step on the entropy of the memory at the worst nearby point. The first forward moves the running statistics.

    Its own memory is `hus`, which takes only what the model is sure of.
    """

    native = paired = Running(fed_by="memory", rate=0.2)
    spares_top = True
    presets = {
        "official": Preset("the authors'", lr=1e-3, optimizer="adam", rho=0.05, weight_decay=0.0),
        "imagenet-resnet50": Preset("the authors', who gave them for ResNet-18"),
        "imagenet-vit": Preset("chosen here: those of CIFAR"),
    }
    known_quirks = {
        "weight_decay": "a weight decay of 0 counts as not given, and 5e-4 is used",
        "move_twice": "the second forward moves the running statistics once more",
    }

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
