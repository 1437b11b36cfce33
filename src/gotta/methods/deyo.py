"""DeYO: believe a sample if its class is lost with its shape (Lee et al., ICLR 2024)."""

from typing import ClassVar

import torch

from gotta.errors import unknown
from gotta.methods.method import Method, methods
from gotta.methods.parts.destroy import DESTROYERS, destroy
from gotta.methods.parts.losses import choose_entropy, margin
from gotta.methods.parts.params import near_the_top, train_affine
from gotta.methods.settings import Preset, Presets, Texts
from gotta.statistics import Batch
from gotta.types import MemoryBatch


@methods.register("deyo")
class Deyo(Method):
    """One step on the entropy of sure samples whose class becomes less likely once their shape is destroyed.

    The surer, and the more the class depends on the shape, the more a sample weighs.
    """

    native = Batch()
    paired = Batch()
    presets: ClassVar[Presets] = {
        "official": Preset(
            "those of the code of Marsden et al. (2024): the authors' are for ImageNet",
            lr=1e-3,
            optimizer="adam",
            e_margin=None,
            weight_margin=None,
            plpd_threshold=0.2,
            destroy="patches",
            weighting=True,
            loss="entropy",
        ),
        "imagenet-resnet50": Preset(
            "the authors', for one domain after the other", lr=2.5e-4, optimizer="sgd", plpd_threshold=0.3
        ),
        "imagenet-vit": Preset("the authors'", lr=1e-3, optimizer="sgd"),
    }
    inputs: ClassVar[Texts] = {"augment": "in place of `destroy`: a function of the batch"}

    def configure(self) -> torch.optim.Optimizer:
        if self.hyper.destroy not in DESTROYERS:
            raise unknown("destroy", self.hyper.destroy, DESTROYERS)
        self.entropy = choose_entropy(self.hyper.loss)
        return self.make_optimizer(train_affine(self.model, "deyo", near_the_top(self.model)))

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        logits = self.training_logits(batch.x)
        uncertain = self.entropy(logits)
        sure = uncertain.detach() < margin(self.hyper.e_margin, logits, 0.5)
        measured = {"kept1": float(sure.sum()), "kept2": 0.0}
        if not sure.any():
            return measured
        drop = self.drop(batch.x[sure], logits.detach()[sure])
        kept = drop > self.hyper.plpd_threshold
        uncertain, drop = uncertain[sure][kept], drop[kept]
        measured["kept2"] = float(len(drop))
        if len(drop):
            loss = uncertain
            if self.hyper.weighting:
                limit = margin(self.hyper.weight_margin, logits)
                loss = loss * ((limit - uncertain.detach()).exp() + drop.exp())
            loss = loss.mean()
            self.descend(loss)
            measured["loss"] = float(loss.detach())
        return measured

    @torch.no_grad()
    def drop(self, x: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        """How much less likely the predicted class of each sample is once its shape is destroyed (PLPD)."""
        given = self.hyper.augment
        changed = destroy(x, self.hyper.destroy, self.generators["method"]) if given is None else given(x)
        probs, destroyed = logits.softmax(1), self.training_logits(changed, moving=False).softmax(1)
        label = probs.argmax(1, keepdim=True)
        return (probs.gather(1, label) - destroyed.gather(1, label)).flatten()
