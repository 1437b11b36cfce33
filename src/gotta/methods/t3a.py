"""T3A: each class becomes the mean direction of its surest samples (Iwasawa and Matsuo, NeurIPS 2021)."""

import torch
from torch import Tensor
from torch.nn import functional as F

from gotta.errors import GottaError
from gotta.heads import find_head
from gotta.methods.method import Preset, methods
from gotta.methods.parts.losses import entropy
from gotta.methods.support import Reader, most_certain
from gotta.types import Prediction

MOST_CLASSES = 20_000  # whose weights are compared with one another, in seconds and not minutes
AT_ONCE = 1024  # of them


@methods.register("t3a")
class T3a(Reader):
    """Of classifier weights, memory rows and batch the surest of each class replace the classifier. Nothing is trained.

    Its own memory keeps the surest samples of each class: `composed` with `lambda_t=0`.
    """

    presets = {
        "official": Preset("the middle of the authors' 1, 5, 20, 50 and 100, which they choose among", shots=20),
    }

    def predict(self, x: Tensor) -> Prediction:
        own = super().predict(x)
        assert own.features is not None
        logits, features = self.gather(own)
        weight, label, unsure = self.prototypes(own)
        features = torch.cat([weight, features])
        label, unsure = torch.cat([label, logits.argmax(1)]), torch.cat([unsure, entropy(logits)])
        kept = most_certain(label, unsure, self.hyper.shots)
        directions = torch.zeros_like(weight).index_add_(0, label[kept], F.normalize(features[kept], dim=1))
        return Prediction(own.features.to(weight) @ F.normalize(directions, dim=1).T, own.features, own.embed, own)

    def prototypes(self, own: Prediction) -> tuple[Tensor, Tensor, Tensor]:
        """The classifier's weights as one sample of each class, with the label and the entropy that it gives them."""
        shape = own.logits.shape[1], own.features.shape[1]  # type: ignore[union-attr]
        weight = getattr(find_head(self.predictor), "weight", None)
        if weight is None or weight.shape != shape:
            raise GottaError(f"method 't3a' needs a linear classifier at the end, with a weight of {list(shape)}.")
        if shape[0] > MOST_CLASSES:
            told = f"compares each of {shape[0]:,} classes with each other one. Expected at most {MOST_CLASSES:,}"
            raise GottaError(f"method 't3a' {told}: use a method that does not, such as 'cache' or 'lame'.")
        weight = weight.detach()
        said = (self.classify(rows).to(own.logits) for rows in torch.split(weight, AT_ONCE))
        label, unsure = zip(*((logits.argmax(1), entropy(logits)) for logits in said), strict=True)
        return weight.to(own.logits), torch.cat(label), torch.cat(unsure)
