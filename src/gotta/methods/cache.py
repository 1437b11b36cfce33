"""Cache: what resembles a sure sample is likely of its class (after TDA, Karmanov et al., CVPR 2024)."""

from math import log, log2

from torch import Tensor
from torch.nn import functional as F

from gotta.methods.method import Preset, methods
from gotta.methods.parts.losses import entropy
from gotta.methods.support import Reader, most_certain
from gotta.types import Prediction


@methods.register("cache")
class Cache(Reader):
    """Adds to the logits alpha exp(-beta (1 - cosine)) for the class of every sure sample, row or of the batch.

    Samples of middling entropy speak against the classes that they could be. Needs no BatchNorm and no backward pass.
    """

    presets = {
        "official": Preset(
            "TDA's authors', for CLIP on ImageNet",
            shots=3,
            alpha=2.0,
            beta=5.0,
            negative_shots=2,
            negative_alpha=0.117,
            negative_beta=1.0,
            negative_from=0.2,
            negative_to=0.5,
            possible_above=0.03,
        ),
        "positive": Preset("the same without the negative cache", negative_alpha=0.0),
    }
    known_quirks = {"mixed_logarithms": "entropies in nats are compared with shares of log2 C"}

    def predict(self, x: Tensor) -> Prediction:
        own = super().predict(x)
        assert own.features is not None
        h, (said, features) = self.hyper, self.gather(own)
        probs, label, uncertain = said.softmax(1), said.argmax(1), entropy(said)
        query, keys = F.normalize(own.features.to(said), dim=1), F.normalize(features, dim=1)

        def ask(among: Tensor, shots: int, values: Tensor, beta: float) -> Tensor:
            """What the surest of each class, among some samples, say: their values by their likeness to the query."""
            kept = among.nonzero()[:, 0]
            kept = kept[most_certain(label[kept], uncertain[kept], shots)]
            likeness = (beta * (query @ keys[kept].T - 1)).exp()
            return likeness @ values[kept]

        classes = said.shape[1]
        share = uncertain / (log2(classes) if "mixed_logarithms" in self.quirks else log(classes))
        middling = (share > h.negative_from) & (share < h.negative_to)
        for_it = ask(uncertain >= 0, h.shots, F.one_hot(label, classes).to(said), h.beta)
        against = ask(middling, h.negative_shots, (probs > h.possible_above).to(said), h.negative_beta)
        return Prediction(own.logits + h.alpha * for_it - h.negative_alpha * against, own.features, own.embed, own)
