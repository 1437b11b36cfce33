"""CoTTA: learn from an augmentation-averaged teacher, and forget at random (Wang et al., CVPR 2022)."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import torch
from torch import Tensor, nn

from gotta.methods.method import Preset, methods
from gotta.methods.parts.augment import augment_copy
from gotta.methods.parts.losses import soft_cross_entropy
from gotta.methods.parts.params import train_weights_and_biases
from gotta.methods.trained import Taught, frozen_copy
from gotta.state import count
from gotta.types import MemoryBatch, Prediction

Mode = Callable[[nn.Module], AbstractContextManager[None]]
IMAGENET = Preset("the authors'", lr=1e-2, optimizer="nesterov", restore=0.001, anchor_threshold=0.1, symmetric=True)


@methods.register("cotta")
class Cotta(Taught):
    """All weights and biases learn what the teacher says; some of their elements return to the source at each step."""

    presets = {
        "official": Preset(
            "the authors'",
            lr=1e-3,
            optimizer="adam",
            momentum=0.999,
            restore=0.01,
            anchor_threshold=0.92,
            copies=32,
            symmetric=False,
        ),
        "cifar100": Preset("the authors'", anchor_threshold=0.72),
        "imagenet-resnet50": IMAGENET,
        "imagenet-vit": IMAGENET.but("the authors', with the learning rate of Benchmark-TTA", lr=2e-3, optimizer="sgd"),
    }
    inputs = {
        "augment": "in place of the random augmentation: a function of the batch, of the batch and the number of the "
        "copy, or a list of functions that the copies take in turn",
        "draws": "recorded random draws: {'restore_mask': [adaptations, parameters] bool}",
    }
    remembers = {"turn": count}
    turn = 0

    def configure(self) -> torch.optim.Optimizer:
        self.teacher, self.anchor = frozen_copy(self.model), frozen_copy(self.model)
        return self.make_optimizer(train_weights_and_biases(self.model, "cotta"))

    def predict(self, x: Tensor) -> Prediction:
        """What the teacher says, averaged over augmented copies where the source model is unsure of the batch."""
        self._confidence, logits, features = self._teach(x, self._prediction_mode)
        self._kept = logits if self.keep_graph else None
        return Prediction(logits, features, self.embed)

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        if self.fed_by_memory:
            self.feed(batch.x)
        target, self._kept = self._kept, None
        if target is None:
            self._confidence, target, _ = self._teach(batch.x, partial(self._training_mode, moving=False))
        student = self.training_logits(batch.x, moving=False)
        loss = soft_cross_entropy(student, target)
        if self.hyper.symmetric:
            loss = 0.5 * loss + 0.5 * soft_cross_entropy(target, student)
        measured = self.descend(loss.mean())
        self.move_teacher(1 - self.hyper.momentum)
        self._restore_some()
        return {**measured, "anchor_confidence": self._confidence}

    @torch.no_grad()
    def _teach(self, x: Tensor, mode: Mode) -> tuple[float, Tensor, Tensor | None]:
        with mode(self.anchor), mode(self.teacher):
            confidence = float(self.logits(x, self.anchor).softmax(1).amax(1).mean())
            if confidence >= self.hyper.anchor_threshold:
                return confidence, *self.forward(x)
            given, rng = self.hyper.augment, self.generators["augment"]
            said = [self.forward(augment_copy(x, copy, given, rng)) for copy in range(self.hyper.copies)]
        logits = torch.stack([logits for logits, _ in said]).mean(0)
        features = [found for _, found in said if found is not None]
        return confidence, logits, torch.stack(features).mean(0) if features else None

    @torch.no_grad()
    def _restore_some(self) -> None:
        """Each element of each parameter goes back to the source's with the probability `restore`."""
        recorded = (self.hyper.draws or {}).get("restore_mask")
        start = 0
        for name, mine in self.trained.items():
            if recorded is None:
                mask = torch.rand(mine.shape, generator=self.generators["method"]) < self.hyper.restore
            else:
                mask = torch.as_tensor(recorded[self.turn][start : start + mine.numel()]).reshape(mine.shape)
                start += mine.numel()
            mine.copy_(torch.where(mask.to(mine.device), self.anchor.get_parameter(name), mine))
        self.turn += 1
