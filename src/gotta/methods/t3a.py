"""T3A: each class becomes the mean direction of its surest samples (Iwasawa and Matsuo, NeurIPS 2021)."""

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from gotta.errors import GottaError
from gotta.methods.method import methods
from gotta.methods.parts.features import find_head
from gotta.methods.parts.losses import entropy
from gotta.methods.parts.support import Reader, find_classifier, most_certain
from gotta.methods.settings import Presets, Texts
from gotta.types import Prediction


@methods.register("t3a")
class T3a(Reader):
    """Of classifier weights, memory rows and batch the surest of each class replace the classifier. Nothing is trained.

    Its own memory keeps the surest samples of each class: `composed` with `lambda_t=0`.
    """

    presets: ClassVar[Presets] = {"official": {"shots": 20}}
    origins: ClassVar[Texts] = {"official": "the middle of the authors' 1, 5, 20, 50 and 100, which they choose among"}

    def predict(self, x: Tensor) -> Prediction:
        own = super().predict(x)
        assert own.features is not None
        logits, features = self.gather(own)
        weight, said = self.prototypes(own)
        logits, features = torch.cat([said, logits]), torch.cat([weight, features])
        label = logits.argmax(1)
        kept = most_certain(label, entropy(logits), self.hyper.shots)
        directions = torch.zeros_like(weight).index_add_(0, label[kept], F.normalize(features[kept], dim=1))
        return Prediction(own.features.to(weight) @ F.normalize(directions, dim=1).T, own.features, own.embed, own)

    def prototypes(self, own: Prediction) -> tuple[Tensor, Tensor]:
        """The classifier's weights as one sample of each class, and what it says of them."""
        shape = own.logits.shape[1], own.features.shape[1]  # type: ignore[union-attr]
        weight = getattr(find_head(self.predictor), "weight", None)
        classify = find_classifier(self.predictor, shape[1])
        if weight is None or classify is None or weight.shape != shape:
            raise GottaError(f"method 't3a' needs a linear classifier at the end, with a weight of {list(shape)}.")
        with torch.no_grad():
            return weight.detach().to(own.logits), classify(weight.detach()).to(own.logits)
