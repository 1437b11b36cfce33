"""TENT: entropy minimisation of the normalisation layers' weight and bias (Wang et al., ICLR 2021)."""

from gotta.methods.method import Preset, methods
from gotta.methods.trained import Trained
from gotta.types import MemoryBatch


@methods.register("tent")
class Tent(Trained):
    """One step on the mean entropy of the samples, under their own statistics."""

    averages = True
    presets = {
        "official": Preset("the authors'", lr=1e-3, optimizer="adam", loss="entropy"),
        "tea": Preset("TEA's code, which has the same"),
        "imagenet-resnet50": Preset("the authors'", lr=2.5e-4, optimizer="sgd"),
        "imagenet-vit": Preset("those of SAR's code", lr=1e-3, optimizer="sgd"),
    }

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        return self.descend(self.entropy(self.training_logits(batch.x)).mean())
