"""COFA: a sample is classified together with the one before it, where that is surer (UniTTA, Du et al., 2024)."""

import torch
from torch import Tensor

from gotta.methods.method import Preset, methods
from gotta.methods.support import OfFeatures
from gotta.state import Sized
from gotta.types import MemoryBatch, Prediction


@methods.register("cofa")
class Cofa(OfFeatures):
    """Classifies the mean of a sample's features and of those before it. Nothing is trained; a memory has no effect."""

    uses_memory = False
    uses_order = True
    presets = {
        "official": Preset("the authors'", only_surer=True),
    }
    remembers = {"last": Sized("features")}
    last: Tensor | None = None  # [D], the features of the last sample of the batch before

    def predict(self, x: Tensor) -> Prediction:
        own = super().predict(x)
        features = own.features
        assert features is not None
        before = features[:1] if self.last is None else self.last[None].to(features)
        logits = self.classify((features + torch.cat([before, features[:-1]])) / 2).to(own.logits)
        if self.hyper.only_surer:
            surer = logits.softmax(1).amax(1) > own.probs.amax(1)
            logits = torch.where(surer[:, None], logits, own.logits)
        self._newest = features[-1]
        return Prediction(logits, features, own.embed, own)

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        self.last = self._newest
        return {}
