"""PeTTA: RoTTA that notices when it strays from the source, and then learns less (Hoang et al., NeurIPS 2024)."""

import torch
from torch import Tensor
from torch.nn import functional as F

from gotta.methods.method import Preset, methods
from gotta.methods.parts.augment import augment
from gotta.methods.parts.features import measured_or_given
from gotta.methods.parts.losses import soft_cross_entropy
from gotta.methods.rotta import Rotta
from gotta.methods.trained import frozen_copy
from gotta.state import Sized
from gotta.types import MemoryBatch, Prediction


@methods.register("petta")
class Petta(Rotta):
    """A student learns from teacher and source; the farther the classes' features have moved, the closer it is held.

    How far is measured against features of clean samples. Without those it is held at a fixed strength.
    """

    needs_features = True
    presets = {
        "official": Preset(
            "the authors'",
            lr=1e-3,
            optimizer="adam",
            nu=0.001,
            pull=10.0,
            anchor_weight=1.0,
            feature_rate=0.05,
            symmetric=True,
        ),
        "imagenet-resnet50": Preset("the authors'", symmetric=False),
        "imagenet-vit": Preset("chosen here: those of ResNet-50", symmetric=False),
    }
    inputs = {
        **Rotta.inputs,
        "source_data": "clean samples [N, ...] to measure the features of each class on; 2000 are usual",
        "source_features": "these features themselves: {'mean': [C, D], 'var': [C, D]}",
    }
    remembers = {"centres": Sized("classes", "features")}
    centres: Tensor | None = None
    _seen: Prediction | None = None

    def configure(self) -> torch.optim.Optimizer | None:
        optimizer = super().configure()
        self.anchor = frozen_copy(self.model)
        self.source = measured_or_given(self.hyper, ("mean", "var"), self.measure)
        return optimizer

    def predict(self, x: Tensor) -> Prediction:
        self._seen = super().predict(x)
        return self._seen

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        with torch.no_grad():
            target = self.training_logits(batch.x, self.teacher).detach()
            source = self.training_logits(batch.x, self.anchor)
        plain = self.training_logits(batch.x)
        other = augment(batch.x, self.hyper.augment, self.generators["augment"])
        changed = self.training_logits(other)
        if self.hyper.symmetric:
            views = [soft_cross_entropy(a, b) for view in (plain, changed) for a, b in ((view, target), (target, view))]
            learned = torch.stack(views).mean()
        else:
            learned = soft_cross_entropy(changed, target).mean()
        strayed = self.stray()
        held = 1.0 if strayed is None else strayed
        anchored = soft_cross_entropy(changed, source).mean()
        loss = learned + held * self.hyper.pull * self.distance() + self.hyper.anchor_weight * anchored
        measured = self.descend(loss)
        self.move_teacher(self.hyper.nu * (1.0 if strayed is None else 1 - strayed))
        return measured if strayed is None else {**measured, "strayed": strayed}

    def distance(self) -> Tensor:
        """How far the trained parameters have turned from the source's: minus the mean cosine."""
        turned = [F.cosine_similarity(p[None], self.source_state[name].to(p)[None]) for name, p in self.trained.items()]
        return -torch.cat([cosine.flatten().mean()[None] for cosine in turned]).mean()

    @torch.no_grad()
    def stray(self) -> float | None:
        """How far the classes of the last batch have strayed, from 0 to 1, before it moves their centres."""
        if self.source is None or self._seen is None or self._seen.features is None:
            return None
        features, label = self._seen.features, self._seen.label
        mean, var = (value.to(features) for value in self.source)
        centres = mean.nan_to_num() if self.centres is None else self.centres.to(features)
        classes = torch.bincount(label).nonzero().flatten()
        off = (centres - mean)[classes] ** 2 / (var[classes] + 1e-6)
        off = off[off.isfinite().all(1)]  # there were clean samples of these
        moved = centres.clone()
        for c in classes.tolist():
            moved[c] = torch.lerp(centres[c], features[label == c].mean(0), self.hyper.feature_rate)
        self.centres = moved
        return 1 - float((-off.mean()).exp()) if len(off) else 0.0

    @torch.no_grad()
    def measure(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the features of each class, by the network's own labels; NaN for a class without."""
        said = [self.forward(part, self.model) for part in torch.split(x, 256)]
        logits, features = torch.cat([a for a, _ in said]), torch.cat([b for _, b in said if b is not None])
        found = [features[logits.argmax(1) == c] for c in range(logits.shape[1])]
        unknown = torch.full_like(features[0], torch.nan)
        means = torch.stack([rows.mean(0) if len(rows) > 1 else unknown for rows in found])
        return means, torch.stack([rows.var(0) if len(rows) > 1 else unknown for rows in found])

    @property
    def notes(self) -> list[str]:
        told = "petta without clean samples (source_data) holds the model at a fixed strength."
        return [told] if self.source is None else []
