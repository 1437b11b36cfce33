"""NEO: features are recentred before they are classified (arXiv 2510.05635). Our own lines, after its formula."""

from torch import Tensor

from gotta.methods.method import methods
from gotta.methods.support import OfFeatures
from gotta.state import Sized, count
from gotta.types import MemoryBatch, Prediction


@methods.register("neo")
class Neo(OfFeatures):
    """logits = W (z - mu) + b, with mu the mean of all features so far. Nothing is trained; a memory has no effect."""

    uses_memory = False
    remembers = {"centre": Sized("features"), "seen": count}
    centre: Tensor | None = None  # [D], of all samples so far
    seen = 0  # samples

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
