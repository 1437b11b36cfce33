"""Energy (TEA): the stream becomes likely under the model, what the model dreams unlikely (Yuan et al., CVPR 2024)."""

from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from gotta.errors import NotFinite
from gotta.methods.method import Method, methods
from gotta.methods.parts.energy_draws import Draws, Random, Recorded
from gotta.methods.parts.params import train_affine
from gotta.methods.settings import Preset, Presets, Texts
from gotta.statistics import Batch
from gotta.statistics.normalization import batch_statistics
from gotta.types import MemoryBatch


@methods.register("energy")
class Energy(Method):
    """One step of contrastive divergence: raise logsumexp of the samples, lower it for images drawn by SGLD."""

    native = Batch()
    paired = Batch()
    native_score = "after"
    presets: ClassVar[Presets] = {
        "official": Preset(
            "the authors'",
            lr=1e-3,
            optimizer="adam",
            steps=20,
            step_size=0.1,
            noise=0.01,
            buffer_size=10_000,
            reinit=0.05,
        ),
        "tea": Preset("the authors'"),
        "imagenet-resnet50": Preset("chosen here: none are published", lr=2.5e-4, optimizer="sgd", buffer_size=256),
        "imagenet-vit": Preset("chosen here: none are published", lr=2.5e-4, optimizer="sgd", buffer_size=256),
    }
    inputs: ClassVar[Texts] = {
        "draws": "recorded random draws: buffer [N, ...], indices and reinit [adaptations, B], fresh [F, ...] with "
        "fresh_batch [F] (the adaptation each belongs to), noise [adaptations * steps, B, ...]"
    }
    remembers = ("turn", "buffer")
    large = ("buffer",)
    turn = 0
    buffer: Tensor | None = None

    def configure(self) -> torch.optim.Optimizer:
        recorded = self.hyper.draws
        self.draws: Draws = Random(self.generators["method"]) if recorded is None else Recorded(recorded)
        return self.make_optimizer(train_affine(self.model, "energy"))

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        real = self.training_logits(batch.x).logsumexp(1).mean()
        fake = self.training_logits(self.dream(batch.x), moving=False).logsumexp(1).mean()
        loss = fake - real
        self.descend(loss)
        self.turn += 1
        return {"loss": float(loss.detach())}

    def dream(self, like: Tensor) -> Tensor:
        """As many images as given, found by following the gradient of logsumexp from where earlier turns ended."""
        image, count, h = like.shape[1:], len(like), self.hyper
        if self.buffer is None:
            self.buffer = self.draws.buffer(h.buffer_size, image)
        rows = self.draws.indices(self.turn, len(self.buffer), count)
        before = self.buffer[rows]
        x = before.clone()
        anew = self.draws.reinit(self.turn, h.reinit, count)
        x[anew] = self.draws.fresh(self.turn, int(anew.sum()), image)
        x = x.to(like)
        for step in range(h.steps):
            x = x + h.step_size * self._uphill(x)
            if h.noise > 0:
                x = x + h.noise * self.draws.noise(self.turn, step, h.steps, x.shape).to(x)
        if not torch.isfinite(x).all():
            raise NotFinite("the images that energy draws are no longer finite.")
        if self.undo_log is not None:
            self.undo_log.append(partial(self.buffer.index_copy_, 0, rows, before))
        self.buffer[rows] = x.to(self.buffer)
        return x

    def _uphill(self, x: Tensor) -> Tensor:
        """The gradient of logsumexp with respect to the images."""
        lent = self.statistics.training(self.model) if self.statistics.watches else batch_statistics(self.model, 0.0)
        with torch.enable_grad(), lent:
            x = x.detach().requires_grad_(True)
            likely = self.logits(x).logsumexp(1).sum()
            self.cost.count(backwards=1)
            return torch.autograd.grad(likely, [x])[0]
