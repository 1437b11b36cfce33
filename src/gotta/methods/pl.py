"""PL: pseudo-labels, trained on as if they were true where the model is confident (after Lee, 2013)."""

from torch.optim import Optimizer

from gotta.methods.method import Preset, methods
from gotta.methods.parts.losses import confident, pseudo_label_loss
from gotta.methods.parts.params import train_all
from gotta.methods.trained import Trained
from gotta.types import MemoryBatch


@methods.register("pl")
class Pl(Trained):
    """One step on the cross-entropy with the own argmax, over the samples whose confidence is above the threshold."""

    choices = {"train": ("affine", "all")}
    presets = {
        "official": Preset(
            "chosen here: no authors gave an online form", lr=1e-3, optimizer="adam", threshold=0.9, train="affine"
        ),
        "tea": Preset("TEA's code", lr=1e-5, train="all", statistics="source"),
        "imagenet-resnet50": Preset("those of the code of Alfarra et al. (2024)", lr=1e-2, optimizer="sgd"),
        "imagenet-vit": Preset("chosen here, after TENT's", lr=1e-3, optimizer="sgd"),
    }
    known_quirks = {"step_on_empty": "without a confident sample the optimizer steps all the same, on momentum alone"}

    def configure(self) -> Optimizer | None:
        return self.make_optimizer(train_all(self.model)) if self.hyper.train == "all" else super().configure()

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        logits = self.training_logits(batch.x)
        sure = confident(logits, self.hyper.threshold)
        measured = {"num_confident": float(sure.sum())}
        if sure.any():
            measured |= self.descend(pseudo_label_loss(logits[sure]))
        elif "step_on_empty" in self.quirks:
            self.coast()
        return measured
