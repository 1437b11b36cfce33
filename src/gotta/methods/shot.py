"""SHOT, online: information maximisation and pseudo-labels (Liang et al., ICML 2020; the online form of TEA)."""

from typing import ClassVar

import torch

from gotta.methods.method import Method, methods
from gotta.methods.parts.losses import confident, entropy, pseudo_label_loss
from gotta.methods.parts.params import train_affine
from gotta.methods.settings import Preset, Presets
from gotta.statistics import Batch
from gotta.types import MemoryBatch


@methods.register("shot")
class Shot(Method):
    """One step on: each prediction certain, all together diverse, and confident ones as their own labels."""

    native = Batch()
    paired = Batch()
    presets: ClassVar[Presets] = {
        "official": Preset(
            "chosen here, after TEA's code: the authors' are for an offline form",
            lr=1e-3,
            optimizer="adam",
            beta=0.3,
            threshold=0.9,
        ),
        "tea": Preset("TEA's code"),
        "imagenet-resnet50": Preset("those of the code of Alfarra et al. (2024)", lr=1e-2, optimizer="sgd", beta=0.1),
        "imagenet-vit": Preset(
            "chosen here: the learning rate of Benchmark-TTA, which runs an offline form", lr=5e-5, optimizer="sgd"
        ),
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
