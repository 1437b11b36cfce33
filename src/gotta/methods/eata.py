"""EATA and ETA: entropy minimisation on reliable samples that say something new (Niu et al., ICML 2022)."""

from collections.abc import Mapping
from math import log
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from gotta.errors import GottaError
from gotta.methods.method import Method, Preset, methods
from gotta.methods.parts.losses import margin, pseudo_label_loss
from gotta.methods.trained import Trained
from gotta.state import Sized
from gotta.statistics.normalization import batch_statistics
from gotta.types import MemoryBatch

OFFICIAL = Preset("the authors'", lr=5e-3, optimizer="sgd", e_margin=None, d_margin=0.4, loss="entropy")
TEA = Preset("TEA's code", lr=1e-3, optimizer="adam", e_margin=0.4 * log(1000), d_margin=0.05)
IMAGENET = Preset("the authors'", lr=2.5e-4, optimizer="sgd", e_margin=0.4 * log(1000), d_margin=0.05)
VIT = IMAGENET.but("the authors', with the learning rate of SAR's code", lr=1e-3)


@methods.register("eta")
class Eta(Trained):
    """One step on the entropy of the samples that are reliable and unlike the average prediction so far."""

    presets = {
        "official": OFFICIAL,
        "tea": TEA,
        "imagenet-resnet50": IMAGENET,
        "imagenet-vit": VIT,
    }
    known_quirks = {"keep_q": "a reset keeps q, the average prediction that redundancy is measured by"}
    remembers = {"q": Sized("classes")}
    q: Tensor | None = None

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        logits = self.training_logits(batch.x)
        uncertain, limit = self.entropy(logits), margin(self.hyper.e_margin, logits)
        probs = logits.detach().softmax(1)
        keep = uncertain.detach() < limit
        measured = {"kept1": float(keep.sum())}
        if self.q is not None:
            keep = keep & (F.cosine_similarity(self.q[None].to(probs), probs).abs() < self.hyper.d_margin)
        measured["kept2"] = float(keep.sum())
        if keep.any():
            mean = probs[keep].mean(0)
            self.q = mean if self.q is None else 0.9 * self.q.to(mean) + 0.1 * mean
            kept = uncertain[keep]
            measured |= self.descend((kept * (limit - kept.detach()).exp()).mean() + self.penalty())
        return measured

    def penalty(self) -> Tensor | float:
        return 0.0

    def reset(self) -> None:
        q = self.q
        super().reset()
        if "keep_q" in self.quirks:
            self.q = q


@methods.register("eata")
class Eata(Eta):
    """ETA that pays for moving parameters which mattered on clean samples. Without clean samples it is ETA."""

    presets = {
        "official": OFFICIAL.but(beta=1.0, fisher_batch_size=64),
        "tea": TEA.but(beta=2000.0, fisher_batch_size=200),
        "imagenet-resnet50": IMAGENET.but(beta=2000.0),
        "imagenet-vit": VIT.but(beta=2000.0),
    }
    inputs = {
        "fisher_data": "clean samples [N, ...] to measure the Fisher information on; 2000 are usual",
        "fisher": "the Fisher information itself: a tensor for each trained parameter, by name",
        "anchor": "the parameters to stay near, by name; those at the start if not given",
    }
    fisher: dict[str, Tensor] | None = None

    def configure(self) -> torch.optim.Optimizer | None:
        optimizer = super().configure()
        start = {name: parameter.detach().clone() for name, parameter in self.trained.items()}
        self.anchor = like(start, self.hyper.anchor or start, "anchor")
        if self.hyper.fisher is not None:
            self.fisher = like(start, self.hyper.fisher, "fisher")
        elif self.hyper.fisher_data is not None:
            with batch_statistics(self.model, 0.0):
                self.fisher = information(self, self.hyper.fisher_data, self.hyper.fisher_batch_size)
        return optimizer

    def penalty(self) -> Tensor | float:
        if self.fisher is None:
            return 0.0
        moved = [
            (self.fisher[name].to(p) * (p - self.anchor[name].to(p)) ** 2).sum() for name, p in self.trained.items()
        ]
        return self.hyper.beta * torch.stack(moved).sum()  # type: ignore[no-any-return]

    @property
    def notes(self) -> list[str]:
        told = "eata without clean samples (fisher_data; in a spec method.fisher) is eta."
        return [told] if self.fisher is None else []


def information(method: Method, x: Tensor, batch_size: int) -> dict[str, Tensor]:
    """The squared gradient of a batch's pseudo-label loss, averaged over the batches, for each trained parameter."""
    trained = method.trained
    total = {name: torch.zeros_like(parameter) for name, parameter in trained.items()}
    batches = [part for part in torch.split(x, batch_size) if len(part) > 1 or len(x) == 1]
    for part in batches:
        with torch.enable_grad():
            loss = pseudo_label_loss(method.logits(part))
            gradients = torch.autograd.grad(loss, list(trained.values()))
        method.cost.count(backwards=1)
        for name, gradient in zip(trained, gradients, strict=True):
            total[name] += gradient**2 / len(batches)
    return total


def like(start: Mapping[str, Tensor], given: Mapping[str, Any], what: str) -> dict[str, Tensor]:
    """The given tensors where the parameters are; there must be one of the same shape for each."""
    missing = [name for name, value in start.items() if name not in given or given[name].shape != value.shape]
    if missing:
        raise GottaError(f"{what} lacks {', '.join(missing)}, or with that shape. Expected a tensor for each of them.")
    return {name: torch.as_tensor(given[name]).to(value) for name, value in start.items()}
