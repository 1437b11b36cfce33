"""SAR: reliable and sharpness-aware entropy minimisation, with recovery (Niu et al., ICLR 2023)."""

from collections.abc import Mapping
from math import log
from typing import ClassVar

import torch

from gotta.methods.method import Method, methods
from gotta.methods.parts.losses import choose_entropy, margin
from gotta.methods.parts.params import load_plain_state, near_the_top, train_affine
from gotta.methods.parts.sam import displace
from gotta.methods.settings import Preset, Presets, Texts
from gotta.state import Reader, number, optional
from gotta.statistics import Batch
from gotta.types import MemoryBatch


@methods.register("sar")
class Sar(Method):
    """One step on the entropy of reliable samples at the worst nearby point; back to the source once it is too low."""

    native = Batch()
    paired = Batch()
    presets: ClassVar[Presets] = {
        "official": Preset(
            "chosen here: the authors' are for ImageNet only",
            lr=1e-3,
            optimizer="sgd",
            rho=0.05,
            e_margin=None,
            recover_below=0.2,
            loss="entropy",
        ),
        "tea": Preset("TEA's code", lr=1e-2, e_margin=0.4 * log(1000)),
        "imagenet-resnet50": Preset("the authors'", lr=2.5e-4, e_margin=0.4 * log(1000)),
        "imagenet-vit": Preset("the authors'", lr=1e-3, e_margin=0.4 * log(1000)),
    }
    known_quirks: ClassVar[Texts] = {
        "keep_ema": "a recovery keeps the small average that caused it, so the next batches recover again",
        "keep_momentum": "a recovery keeps the optimizer's momentum",
        "step_on_empty": "without a reliable sample the optimizer steps all the same, on momentum alone",
    }
    remembers: ClassVar[Mapping[str, Reader]] = {"ema": optional(number)}
    ema: float | None = None

    def configure(self) -> torch.optim.Optimizer:
        self.entropy = choose_entropy(self.hyper.loss)
        return self.make_optimizer(train_affine(self.model, "sar", near_the_top(self.model)))

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        logits = self.training_logits(batch.x)
        uncertain, limit = self.entropy(logits), margin(self.hyper.e_margin, logits)
        reliable = uncertain.detach() < limit
        measured = {"kept1": float(reliable.sum()), "kept2": 0.0}
        if reliable.any():
            loss = uncertain[reliable].mean()
            measured["loss"] = float(loss.detach())
            self.backward(loss)
            with displace(list(self.trained.values()), self.hyper.rho):
                uncertain = self.entropy(self.training_logits(batch.x, moving=False))
                still = reliable & (uncertain.detach() < limit)
                if still.any():
                    loss = uncertain[still].mean()
                    self.backward(loss)
                    measured |= {"kept2": float(still.sum()), "sharp_loss": float(loss.detach())}
        if measured["kept2"]:
            self.step()
            sharp = measured["sharp_loss"]
            self.ema = sharp if self.ema is None else 0.9 * self.ema + 0.1 * sharp
        elif "step_on_empty" in self.quirks:
            self.coast()
        measured["recovered"] = float(self.ema is not None and self.ema < self.hyper.recover_below)
        if measured["recovered"]:
            self.recover()
        return measured if self.ema is None else {**measured, "ema": self.ema}

    @torch.no_grad()
    def recover(self) -> None:
        """The parameters as they were at the start. Running statistics, if there are any, stay: they did not fail."""
        for name, parameter in self.trained.items():
            parameter.copy_(self.source_state[name])
        if "keep_momentum" not in self.quirks:
            assert self.optimizer is not None
            load_plain_state(self.optimizer, {})
        if "keep_ema" not in self.quirks:
            self.ema = None
