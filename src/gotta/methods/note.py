"""NOTE: instance-aware normalisation, a balanced memory, gentle entropy minimisation (Gong et al., NeurIPS 2022)."""

from typing import ClassVar

import torch

from gotta.methods.method import Method, methods
from gotta.methods.parts.iabn import IABN
from gotta.methods.parts.params import train_affine
from gotta.methods.settings import Preset, Presets, Texts
from gotta.statistics import Batch, Running
from gotta.statistics.normalization import replace_batch_norms
from gotta.types import MemoryBatch


@methods.register("note")
class Note(Method):
    """One step on the entropy of the memory, whose forward also moves the running statistics that predict."""

    native = Batch()
    paired = Running(fed_by="memory", rate=0.01)
    presets: ClassVar[Presets] = {
        "official": Preset("the authors'", lr=1e-4, optimizer="adam", weight_decay=0.0, iabn=True, k=4.0),
        "imagenet-resnet50": Preset("the authors', who gave them for ResNet-18"),
        "imagenet-vit": Preset("chosen here: those of CIFAR"),
    }
    known_quirks: ClassVar[Texts] = {"weight_decay": "a weight decay of 0 counts as not given, and 5e-4 is used"}

    def configure(self) -> torch.optim.Optimizer:
        if self.hyper.iabn:
            replace_batch_norms(self.model, lambda layer: IABN(layer, self.hyper.k))
        decay = self.hyper.weight_decay or (5e-4 if "weight_decay" in self.quirks else 0.0)
        return self.make_optimizer(train_affine(self.model, "note"), decay)

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        probs = self.training_logits(batch.x).softmax(1)
        loss = -(probs * (probs + 1e-6).log()).mean()  # over samples and classes: 1/C of the usual entropy
        self.descend(loss)
        return {"loss": float(loss.detach())}
