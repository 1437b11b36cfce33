"""FOA: prompts for a transformer, found by forwards alone; features moved to the source (Niu et al., ICML 2024)."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod, sqrt
from typing import Any

import torch
from torch import Tensor, nn

from gotta.errors import GottaError
from gotta.methods.method import Method, Preset, methods
from gotta.methods.parts import cma
from gotta.methods.parts.cma import Search
from gotta.methods.parts.features import measured_or_given
from gotta.methods.parts.losses import entropy
from gotta.state import Sized, count, set_values, tensor
from gotta.statistics.normalization import moments
from gotta.types import MemoryBatch, Prediction

USUAL_BATCH = 64  # of the authors, to whose size the weight of the discrepancy refers


@methods.register("foa")
class Foa(Method):
    """Keeps those of the prompts drawn by CMA-ES that make predictions sure and the features like the source's.

    The last features are moved by how far their average is from the source's. Nothing is trained by gradients.
    """

    native_score = "after"
    presets = {
        "official": Preset(
            "the authors', for ViT-B on ImageNet",
            prompts=3,
            population=27,
            balance=0.4,
            spread=1.0,
            follow_rate=0.1,
            shift=True,
        ),
        "imagenet-vit": Preset("the authors', who take balance=0.2 for ImageNet-R"),
    }
    inputs = {
        "source_data": "clean samples [N, ...] to measure the features of all layers on; 32 are the authors'",
        "source_features": "these features themselves: {'mean': [L * W], 'std': [L * W]}",
        "draws": "recorded random draws: {'start': [1, prompts, W], 'population': [adaptations, population, D]}",
    }
    remembers = {
        **dict.fromkeys(("best", *Search._fields), tensor),
        **dict.fromkeys(("average", "latest"), Sized("features")),
        "turn": count,
    }
    large = ("covariance", "basis")  # exchanged, never changed in place
    best: Tensor  # [prompts, W]
    average: Tensor | None = None  # [W], of the last features
    latest: Tensor | None = None  # [W], of the last adaptation, not yet in the average
    turn = 0
    sigma: Tensor  # with the other fields of the search

    def check(self, model: nn.Module) -> None:
        find_transformer(model)

    def configure(self) -> None:
        vit = find_transformer(self.model)
        width = vit.cls_token.shape[-1]
        shape, rng = (self.hyper.prompts, width), self.generators["method"]
        reach = sqrt(6 / (3 * patch_side(vit) ** 2 + width))
        drawn = self.drawn("start", lambda: (2 * torch.rand(shape, generator=rng) - 1) * reach)
        self.best = drawn.reshape(shape).float()
        set_values(self, cma.begin(prod(shape), self.hyper.spread)._asdict())
        self.source = measured_or_given(self.hyper, ("mean", "std"), self.measure)

    def measure(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and deviation of the features of all layers."""
        mean, var = moments(torch.cat([self.see(part, None)[1] for part in torch.split(x, 256)]), (0,), unbiased=True)
        return mean, var.sqrt()

    def predict(self, x: Tensor) -> Prediction:
        output, layers = self.see(x, self.best)
        vit = find_transformer(self.model)
        last = layers[:, -vit.cls_token.shape[-1] :]
        if self.source is not None and self.average is not None and self.hyper.shift:
            moved = last + (self.source[0].to(last)[-last.shape[1] :] - self.average.to(last))
            with torch.no_grad():
                output = vit.head(moved)
        return Prediction(self._read(output), last, self.embed)

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        if self.latest is not None:  # so that a batch is never moved by itself, as published
            rate = self.hyper.follow_rate
            before = self.latest if self.average is None else self.average.to(self.latest)
            self.average = torch.lerp(before, self.latest, rate)
        population = self.hyper.population
        search = cma.decompose(Search(*(getattr(self, name).double().cpu() for name in Search._fields)), population)
        drawn = self.drawn("population", lambda: cma.draw(search, population, self.generators["method"]), self.turn)
        points = torch.cat([drawn.double(), self.best.detach().double().cpu().reshape(1, -1)])
        found = [self.judge(batch, point.reshape(self.best.shape).to(self.best)) for point in points]
        losses = torch.stack([loss for loss, _ in found]).double().cpu()
        self.turn += 1
        if not losses.isfinite().all():
            return {"loss": float(losses[-1])}
        set_values(self, cma.learn(search, points, losses, population)._asdict())
        self.best = points[int(losses.argmin())].reshape(self.best.shape).to(self.best)
        self.latest = torch.stack([mean for _, mean in found]).mean(0)
        return {"loss": float(losses.min()), "sigma": float(self.sigma)}

    @torch.no_grad()
    def judge(self, batch: MemoryBatch, prompts: Tensor) -> tuple[Tensor, Tensor]:
        """How bad these prompts are for the rows, and the mean of the last features under them."""
        output, layers = self.see(batch.x, prompts)
        samples = len(batch)
        loss = entropy(self._read(output)).mean() * samples
        mean, var = moments(layers, (0,), unbiased=samples > 1)
        if self.source is not None:
            source_mean, source_std = (value.to(layers) for value in self.source)
            off = (mean - source_mean).square().sum() + (var.sqrt() - source_std).square().sum()
            loss = loss + self.hyper.balance * off * samples / USUAL_BATCH
        return loss, layers[:, -self.best.shape[1] :].mean(0)

    @torch.no_grad()
    def see(self, x: Tensor, prompts: Tensor | None) -> tuple[Any, Tensor]:
        """One counted forward with prompts among the tokens: what the network gives, and the class token of all layers
        [B, L * W], each as the next layer normalises it.
        """
        vit = find_transformer(self.model)
        self.cost.count(forwards=1, samples=len(x))
        with tokens_watched(vit, prompts) as seen:
            output = self.calls(self.model, x)
        following = [*(block.norm1 for block in list(vit.blocks)[1:]), vit.norm]
        return output, torch.cat([norm(token) for norm, token in zip(following, seen, strict=True)], 1)

    @property
    def notes(self) -> list[str]:
        told = "foa without clean samples (source_data) goes by entropy alone."
        return [told] if self.source is None else []


def find_transformer(model: nn.Module) -> Any:
    """The vision transformer in a model: tokens, the first classified by a linear layer."""
    for module in model.modules():
        parts = [getattr(module, name, None) for name in ("cls_token", "pos_embed", "blocks", "norm", "head")]
        plain = all(isinstance(getattr(module, name, nn.Identity()), nn.Identity) for name in ("norm_pre", "fc_norm"))
        if not plain or any(part is None for part in parts) or not isinstance(parts[4], nn.Linear):
            continue
        by_token = getattr(module, "global_pool", "token") == "token"
        if by_token and all(hasattr(block, "norm1") for block in parts[2]):  # type: ignore[union-attr]
            return module
    expected = "cls_token, pos_embed, blocks with norm1, norm, linear head on the class token"
    raise GottaError(f"method 'foa' is for a vision transformer like 'vit-mini'. Expected {expected}.")


def patch_side(vit: Any) -> int:
    """How many pixels wide a patch is, by the strides of what makes tokens of images."""
    convolutions = [module for module in vit.patch_embed.modules() if isinstance(module, nn.Conv2d)]
    return prod(int(module.stride[0]) for module in convolutions)


@contextmanager
def tokens_watched(vit: Any, prompts: Tensor | None) -> Iterator[list[Tensor]]:
    """Inside, prompts [P, W] stand behind the class token; the list fills with the class token [B, W] of each block."""
    seen: list[Tensor] = []

    def insert(_: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if prompts is None:
            return None
        tokens = inputs[0]
        added = prompts.to(tokens).expand(len(tokens), -1, -1)
        return (torch.cat([tokens[:, :1], added, tokens[:, 1:]], 1), *inputs[1:])

    def note(_: nn.Module, inputs: tuple[Any, ...], tokens: Tensor) -> None:
        seen.append(tokens[:, 0])

    blocks = list(vit.blocks)
    hooks = [blocks[0].register_forward_pre_hook(insert)]
    hooks += [block.register_forward_hook(note) for block in blocks]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
