"""SAR: reliable and sharpness-aware entropy minimisation, with recovery (Niu et al., ICLR 2023)."""

from math import log

import torch

from gotta.methods.method import Preset, methods
from gotta.methods.parts.losses import margin
from gotta.methods.parts.params import displace, load_plain_state
from gotta.methods.trained import Trained
from gotta.state import number, optional
from gotta.types import MemoryBatch


@methods.register("sar")
class Sar(Trained):
    """One step on the entropy of reliable samples at the worst nearby point; back to the source once it is too low."""

    spares_top = True
    presets = {
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
    known_quirks = {
        "keep_ema": "a recovery keeps the small average that caused it, so the next batches recover again",
        "keep_momentum": "a recovery keeps the optimizer's momentum",
        "step_on_empty": "without a reliable sample the optimizer steps all the same, on momentum alone",
    }
    remembers = {"ema": optional(number)}
    ema: float | None = None

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
