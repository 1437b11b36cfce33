"""ROID: weigh samples, pull the model to the source, correct by the batch's classes (Marsden et al., WACV 2024)."""

import torch
from torch import Tensor
from torch.nn import functional as F

from gotta.methods.method import Preset, methods
from gotta.methods.parts.augment import augment
from gotta.methods.parts.losses import entropy, soft_cross_entropy, soft_likelihood_ratio
from gotta.methods.trained import Trained, follow
from gotta.state import Sized
from gotta.types import MemoryBatch, Prediction

IMAGENET = Preset("the authors'", lr=2.5e-4, optimizer="nesterov")


@methods.register("roid")
class Roid(Trained):
    """One step on the soft likelihood ratio of certain and unusual samples, which should also survive augmentation.

    After it the trained parameters go a little back to the source. The classes of a batch correct its prediction.
    """

    uses_order = True
    presets = {
        "official": Preset(
            "the authors'",
            lr=1e-3,
            optimizer="adam",
            momentum=0.99,
            probs_momentum=0.9,
            temperature=1 / 3,
            weighting=True,
            consistency=True,
            prior_correction=True,
        ),
        "imagenet-resnet50": IMAGENET,
        "imagenet-vit": IMAGENET.but("the authors', who take one learning rate for all networks"),
    }
    inputs = {"augment": "in place of the random augmentation: a function of the batch"}
    known_quirks = {"scaled_logits": "the correction multiplies logits by the prior, not probabilities"}
    remembers = {"mean_probs": Sized("classes")}
    mean_probs: Tensor | None = None

    def predict(self, x: Tensor) -> Prediction:
        """What the network says, times the classes of the batch; the smaller the batch, the flatter that prior."""
        raw = super().predict(x)
        if not self.hyper.prior_correction:
            return raw
        prior, classes = raw.probs.mean(0), raw.probs.shape[1]
        smooth = max(1 / len(x), 1 / classes) / prior.max()
        prior = (prior + smooth) / (1 + smooth * classes)
        logits = raw.logits * prior if "scaled_logits" in self.quirks else raw.logits + prior.log()
        return Prediction(logits, raw.features, raw.embed, raw)

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        logits = self.training_logits(batch.x)
        weight = self.weigh(logits.detach()) if self.hyper.weighting else torch.ones_like(logits[:, 0])
        kept = weight > 0
        logits, weight = logits[kept], weight[kept]
        loss = soft_likelihood_ratio(logits)
        if self.hyper.consistency:
            changed = augment(batch.x[kept], self.hyper.augment, self.generators["augment"], fine=False)
            other = self.training_logits(changed, moving=False)
            loss = loss + 0.5 * soft_cross_entropy(other, logits) + 0.5 * soft_cross_entropy(logits, other)
        measured = self.descend((weight * loss).sum() / len(batch))
        source = (self.source_state[name].to(parameter) for name, parameter in self.trained.items())
        follow(self.trained.values(), source, 1 - self.hyper.momentum)
        return {**measured, "kept": float(kept.sum())}

    def weigh(self, logits: Tensor) -> Tensor:
        """exp(unusual x certain / temperature), both from 0 to 1 in D; 0 where it is less unusual than the mean.

        Unusual is what differs from the average prediction so far, which moves on by this batch.
        """
        probs = logits.softmax(1)
        usual = torch.full_like(probs[0], 1 / len(probs[0])) if self.mean_probs is None else self.mean_probs.to(probs)
        unusual = stretch(1 - F.cosine_similarity(usual[None], probs))
        weight = (unusual * stretch(-entropy(logits)) / self.hyper.temperature).exp()
        momentum = self.hyper.probs_momentum
        self.mean_probs = momentum * usual + (1 - momentum) * probs.mean(0)
        return torch.where(unusual < unusual.mean(), 0.0, weight)


def stretch(values: Tensor) -> Tensor:
    """Mapped so that they go from 0 to 1; all 0 where they are equal."""
    low, high = values.aminmax()
    return (values - low) / (high - low).clamp(min=torch.finfo(values.dtype).tiny)
