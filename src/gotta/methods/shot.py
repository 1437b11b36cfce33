"""SHOT, online: information maximisation and pseudo-labels (Liang et al., ICML 2020; the online form of TEA)."""

from gotta.methods.method import Preset, methods
from gotta.methods.parts.losses import confident, entropy, pseudo_label_loss
from gotta.methods.trained import Trained
from gotta.types import MemoryBatch


@methods.register("shot")
class Shot(Trained):
    """One step on: each prediction certain, all together diverse, and confident ones as their own labels."""

    presets = {
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

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        logits = self.training_logits(batch.x)
        mean = logits.softmax(1).mean(0)
        loss = entropy(logits).mean() + (mean * (mean + 1e-5).log()).sum()
        sure = confident(logits, self.hyper.threshold)
        if self.hyper.beta > 0 and sure.any():
            loss = loss + self.hyper.beta * pseudo_label_loss(logits[sure])
        return {**self.descend(loss), "num_confident": float(sure.sum())}
