"""SHOT, online: information maximisation and pseudo-labels (Liang et al., ICML 2020; the online form of TEA)."""

from typing import ClassVar

import torch

from gotta.methods.method import Method, methods
from gotta.methods.parts.losses import confident, entropy, pseudo_label_loss
from gotta.methods.parts.params import train_affine
from gotta.methods.settings import Presets, Texts
from gotta.statistics import Batch
from gotta.types import MemoryBatch


@methods.register("shot")
class Shot(Method):
    """One step on: each prediction certain, all together diverse, and confident ones as their own labels."""

    native = Batch()
    paired = Batch()
    presets: ClassVar[Presets] = {
        "official": {"lr": 1e-3, "optimizer": "adam", "beta": 0.3, "threshold": 0.9},
        "tea": {},
        "imagenet-resnet50": {"lr": 1e-2, "optimizer": "sgd", "beta": 0.1},
        "imagenet-vit": {"lr": 5e-5, "optimizer": "sgd"},
    }
    origins: ClassVar[Texts] = {
        "official": "chosen here, after TEA's code: the authors' are for an offline form",
        "tea": "TEA's code",
        "imagenet-resnet50": "those of the code of Alfarra et al. (2024)",
        "imagenet-vit": "chosen here: the learning rate of Benchmark-TTA, which runs an offline form",
    }

    def configure(self) -> torch.optim.Optimizer:
        return self.make_optimizer(train_affine(self.model, "shot"))

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        logits = self.training_logits(batch.x)
        mean = logits.softmax(1).mean(0)
        loss = entropy(logits).mean() + (mean * (mean + 1e-5).log()).sum()
        sure = confident(logits, self.hyper.threshold)
        if self.hyper.beta > 0 and sure.any():
            loss = loss + self.hyper.beta * pseudo_label_loss(logits[sure])
        self.descend(loss)
        return {"loss": float(loss.detach()), "num_confident": float(sure.sum())}
