"""Energy (TEA): the stream becomes likely under the model, what the model dreams unlikely (Yuan et al., CVPR 2024)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor

from gotta.errors import GottaError, NotFinite
from gotta.methods.method import Method, methods
from gotta.methods.parts.params import train_affine
from gotta.methods.settings import Preset, Presets, Texts
from gotta.state import Reader, Sized, count
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
    remembers: ClassVar[Mapping[str, Reader]] = {"turn": count, "buffer": Sized("rows", "sample")}
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
        x[anew] = self.draws.fresh(self.turn, int(anew.sum()), image).to(x)
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


class Draws(Protocol):
    """`turn` counts adaptations, `step` the steps within one. Images are uniform in [-1, 1]."""

    def buffer(self, size: int, image: Sequence[int]) -> Tensor: ...  # [size, ...]

    def indices(self, turn: int, size: int, count: int) -> Tensor: ...  # [count] in 0 .. size - 1

    def reinit(self, turn: int, share: float, count: int) -> Tensor: ...  # [count] bool

    def fresh(self, turn: int, count: int, image: Sequence[int]) -> Tensor: ...  # [count, ...]

    def noise(self, turn: int, step: int, steps: int, shape: Sequence[int]) -> Tensor: ...


class Random:
    """Drawn as they are asked for, whatever the turn."""

    def __init__(self, generator: torch.Generator) -> None:
        self.generator = generator

    def buffer(self, size: int, image: Sequence[int]) -> Tensor:
        return self._rand((size, *image)).mul_(2).sub_(1)

    def indices(self, turn: int, size: int, count: int) -> Tensor:
        return torch.randint(size, (count,), generator=self.generator)

    def reinit(self, turn: int, share: float, count: int) -> Tensor:
        return self._rand((count,)) < share

    def fresh(self, turn: int, count: int, image: Sequence[int]) -> Tensor:
        return self.buffer(count, image)

    def noise(self, turn: int, step: int, steps: int, shape: Sequence[int]) -> Tensor:
        return torch.randn(tuple(shape), generator=self.generator)

    def _rand(self, shape: tuple[int, ...]) -> Tensor:
        return torch.rand(shape, generator=self.generator)


class Recorded:
    """Looked up in arrays, which may be NumPy's."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.arrays = arrays

    def buffer(self, size: int, image: Sequence[int]) -> Tensor:
        return self._at("buffer").float().clone()

    def indices(self, turn: int, size: int, count: int) -> Tensor:
        return self._at("indices", turn).long()

    def reinit(self, turn: int, share: float, count: int) -> Tensor:
        return self._at("reinit", turn).bool()

    def fresh(self, turn: int, count: int, image: Sequence[int]) -> Tensor:
        return self._at("fresh")[self._at("fresh_batch") == turn]

    def noise(self, turn: int, step: int, steps: int, shape: Sequence[int]) -> Tensor:
        return self._at("noise", turn * steps + step)

    def _at(self, name: str, place: int | None = None) -> Tensor:
        if name not in self.arrays or (place is not None and place >= len(self.arrays[name])):
            where = "" if place is None else f" number {place}"
            raise GottaError(f"draws has no '{name}'{where}. Record every draw, or leave draws out.")
        return torch.as_tensor(self.arrays[name] if place is None else self.arrays[name][place])
