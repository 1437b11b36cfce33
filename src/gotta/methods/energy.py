"""Energy (TEA): the stream becomes likely under the model, what the model dreams unlikely (Yuan et al., CVPR 2024)."""

from functools import partial

import torch
from torch import Tensor

from gotta.errors import NotFinite
from gotta.methods.method import Preset, methods
from gotta.methods.trained import Trained
from gotta.state import Sized, count
from gotta.statistics.normalization import batch_statistics
from gotta.types import MemoryBatch


@methods.register("energy")
class Energy(Trained):
    """One step of contrastive divergence: raise logsumexp of the samples, lower it for images drawn by SGLD."""

    native_score = "after"
    presets = {
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
    inputs = {
        "draws": "recorded random draws: buffer [N, ...], indices and reinit [adaptations, B], fresh [F, ...] with "
        "fresh_batch [F] (the adaptation each belongs to), noise [adaptations * steps, B, ...]"
    }
    remembers = {"turn": count, "buffer": Sized("rows", "sample")}
    large = ("buffer",)
    turn = 0
    buffer: Tensor | None = None

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        real = self.training_logits(batch.x).logsumexp(1).mean()
        fake = self.training_logits(self.dream(batch.x), moving=False).logsumexp(1).mean()
        loss = fake - real
        self.turn += 1
        return self.descend(loss)

    def dream(self, like: Tensor) -> Tensor:
        """As many images as given, found by following the gradient of logsumexp from where earlier turns ended."""
        h, turn, count, rng = self.hyper, self.turn, len(like), self.generators["method"]

        def uniform(images: int) -> Tensor:
            """In [-1, 1]."""
            return torch.rand((images, *like.shape[1:]), generator=rng).mul_(2).sub_(1)

        buffer = self.buffer
        if buffer is None:
            buffer = self.drawn("buffer", partial(uniform, h.buffer_size)).float()
        rows = self.drawn("indices", lambda: torch.randint(len(buffer), (count,), generator=rng), turn).long()
        before = buffer[rows]
        x = before.clone()
        anew = self.drawn("reinit", lambda: torch.rand(count, generator=rng) < h.reinit, turn).bool()
        fresh = self.drawn("fresh", lambda: uniform(int(anew.sum())))
        x[anew] = (fresh if h.draws is None else fresh[self.drawn("fresh_batch", Tensor) == turn]).to(x)
        x = x.to(like)
        for step in range(h.steps):
            x = x + h.step_size * self._uphill(x)
            if h.noise > 0:
                noise = self.drawn("noise", lambda: torch.randn(like.shape, generator=rng), turn * h.steps + step)
                x = x + h.noise * noise.to(x)
        if not torch.isfinite(x).all():
            raise NotFinite("the images that energy draws are no longer finite.")
        if self.undo_log is not None:
            self.undo_log.append(partial(buffer.index_copy_, 0, rows, before))
        buffer[rows] = x.to(buffer)
        self.buffer = buffer
        return x

    def _uphill(self, x: Tensor) -> Tensor:
        """The gradient of logsumexp with respect to the images."""
        lent = self.statistics.training(self.model) if self.statistics.watches else batch_statistics(self.model, 0.0)
        with torch.enable_grad(), lent:
            x = x.detach().requires_grad_(True)
            likely = self.logits(x).logsumexp(1).sum()
            self.cost.count(backwards=1)
            return torch.autograd.grad(likely, [x])[0]
