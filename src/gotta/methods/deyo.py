"""DeYO: believe a sample if its class is lost with its shape (Lee et al., ICLR 2024)."""

import torch
from torch import Tensor
from torch.nn import functional as F

from gotta.methods.method import Preset, methods
from gotta.methods.parts.losses import ENTROPIES, margin
from gotta.methods.trained import Trained
from gotta.types import MemoryBatch

PATCHES = 4  # in a row and in a column


@methods.register("deyo")
class Deyo(Trained):
    """One step on the entropy of sure samples whose class becomes less likely once their shape is destroyed.

    The surer, and the more the class depends on the shape, the more a sample weighs.
    """

    spares_top = True
    choices = {"loss": ENTROPIES, "destroy": ("patches", "pixels", "occlusion")}
    presets = {
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
    inputs = {"augment": "in place of `destroy`: a function of the batch"}

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
            measured |= self.descend(loss.mean())
        return measured

    @torch.no_grad()
    def drop(self, x: Tensor, logits: Tensor) -> Tensor:
        """How much less likely the predicted class of each sample is once its shape is destroyed (PLPD)."""
        given = self.hyper.augment
        changed = destroy(x, self.hyper.destroy, self.generators["method"]) if given is None else given(x)
        probs, destroyed = logits.softmax(1), self.training_logits(changed, moving=False).softmax(1)
        label = probs.argmax(1, keepdim=True)
        return (probs.gather(1, label) - destroyed.gather(1, label)).flatten()


def destroy(x: Tensor, how: str, generator: torch.Generator) -> Tensor:
    """Samples [B, C, ...] with their `patches` or `pixels` in another order, or their middle painted over.

    Patches are shuffled in each image differently, pixels in all alike, as published. Samples that are not images have
    their positions shuffled, or their values where they have no positions.
    """
    if x.ndim != 4:
        return _shuffle_places(x, generator)
    if how == "occlusion":
        return _paint_over(x)
    return _shuffle_places(x, generator) if how == "pixels" else _shuffle_patches(x, generator)


def _shuffle_places(x: Tensor, generator: torch.Generator) -> Tensor:
    flat = x if x.ndim == 2 else x.flatten(2)
    order = torch.randperm(flat.shape[-1], generator=generator).to(x.device)
    return flat[..., order].reshape(x.shape)


def _shuffle_patches(x: Tensor, generator: torch.Generator) -> Tensor:
    """4 x 4 patches; an image whose sides are not multiples of that is scaled to one and back."""
    count, channels, height, width = x.shape
    tall, wide = (max(side // PATCHES, 1) for side in (height, width))
    even = _scale(x, (PATCHES * tall, PATCHES * wide))
    parts = even.reshape(count, channels, PATCHES, tall, PATCHES, wide).permute(0, 2, 4, 1, 3, 5).flatten(1, 2)
    order = torch.rand(count, PATCHES**2, generator=generator).argsort(1).to(x.device)
    parts = parts[torch.arange(count, device=x.device)[:, None], order]
    whole = parts.reshape(count, PATCHES, PATCHES, channels, tall, wide).permute(0, 3, 1, 4, 2, 5)
    return _scale(whole.reshape(even.shape), (height, width))


def _paint_over(x: Tensor) -> Tensor:
    """The middle, half as high and wide as the image, in the image's mean colour."""
    height, width = x.shape[2:]
    out = x.clone()
    top, left = height // 4, width // 4
    out[:, :, top : top + height // 2, left : left + width // 2] = x.mean((2, 3), keepdim=True)
    return out


def _scale(x: Tensor, size: tuple[int, int]) -> Tensor:
    if tuple(x.shape[2:]) == size:
        return x
    return F.interpolate(x, size, mode="bilinear", align_corners=False, antialias=True)
