"""NEO: features are recentred before they are classified (arXiv 2510.05635). Our own lines, after its formula."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from gotta.errors import GottaError
from gotta.methods.method import Method, methods
from gotta.methods.parts.features import has_features
from gotta.methods.support import find_classifier
from gotta.state import Reader, Sized, count
from gotta.types import MemoryBatch, Prediction


@methods.register("neo")
class Neo(Method):
    """logits = W (z - mu) + b, with mu the mean of all features so far. Nothing is trained; a memory has no effect."""

    uses_memory = False
    needs_features = True
    native_labels = "raw"
    remembers: ClassVar[Mapping[str, Reader]] = {"centre": Sized("features"), "seen": count}
    centre: Tensor | None = None  # [D], of all samples so far
    seen = 0  # samples

    def check(self, model: nn.Module) -> None:
        if not has_features(model):
            raise GottaError(
                "method 'neo' recentres features, and this model has none to take: expected features(x) and "
                "classify(features), or a linear layer at its end."
            )

    def predict(self, x: Tensor) -> Prediction:
        own = super().predict(x)
        assert own.features is not None
        features = own.features.detach()
        centre = features.mean(0)
        if self.centre is not None:
            centre = self.centre.to(features).lerp(centre, len(features) / (self.seen + len(features)))
        self._next = centre, self.seen + len(features)
        return Prediction(self.classify(features - centre).to(own.logits), own.features, own.embed, own)

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        self.centre, self.seen = self._next
        return {}

    @torch.no_grad()
    def classify(self, features: Tensor) -> Tensor:
        classifier = find_classifier(self.predictor, features.shape[1])
        if classifier is None:
            raise GottaError("method 'neo' needs a linear classifier at the end of the network.")
        return self._read(classifier(features))

    @property
    def stands_still(self) -> bool:
        return False
