"""The adapted model: one step is predict, observe, adapt. The only copy of that logic."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from gotta.errors import GottaError, unknown
from gotta.memory import Memory
from gotta.methods import Method, Statistics, methods
from gotta.types import Prediction

PAIRINGS = ("paper", "memory")


@dataclass(frozen=True)
class Outcome:
    """What a step gave: the prediction to use, where each sample was stored (-1: not), and what was done for it."""

    prediction: Prediction
    slots: Tensor  # [B]
    adaptations: int
    cost: dict[str, Any] = field(default_factory=dict)  # seconds, forwards and backwards by phase
    diagnostics: dict[str, float] = field(default_factory=dict)


class Adapted(nn.Module):
    """A model that adapts to the stream it predicts. Calling it gives logits; `step` tells what happened besides."""

    def __init__(self, method: Method, memory: Memory, adapt_every: int | None = None, score: str = "before") -> None:
        super().__init__()
        self.model = method.model
        for name, net in method.networks().items():  # so that .to(device) moves every one of them
            self.add_module(name, net)
        self.method, self.memory = method, memory
        self.adapt_every, self.score = adapt_every, score
        method.capacity = memory.capacity
        # Without a memory the batch that is predicted is the one to adapt on, so its forward serves both.
        method.keep_graph = memory.policy.holds_batch and adapt_every is None
        self.offered = self.adaptations = 0
        self._sample: torch.Size | None = None

    def forward(self, x: Tensor) -> Tensor:
        return self.step(x).prediction.logits

    def step(self, x: Tensor) -> Outcome:
        """Predict a batch, offer it to the memory, adapt when due. A batch that is refused changes nothing."""
        self._check(x)
        # Adapting needs gradients whatever mode the caller is in, and a tensor made in inference mode cannot have any.
        with torch.inference_mode(False), torch.enable_grad():
            return self._step(x.clone() if x.is_inference() else x.detach())

    def _step(self, x: Tensor) -> Outcome:
        phase = self.method.cost.phase
        with phase("predict"):
            prediction = self.method.predict(x)
            self._check_logits(prediction.logits)
        self._sample = x.shape[1:]
        slots, adaptations, diagnostics = [], self.adaptations, {}
        for part, due in self._parts(len(x)):
            with phase("observe"):
                slots.append(self._observe(x[part], prediction, part))
            if due:
                with phase("adapt"):
                    held = self.memory.batch()
                    diagnostics = self.method.adapt(held) if len(held) else {}
                    self.adaptations += 1
                with phase("refresh"):
                    self._refresh()
        if self.method.moves_statistics and self.method.statistics.fed_by == "batch":
            with phase("adapt"):
                self.method.feed(x)
        if self.score == "after":
            with phase("predict"):
                prediction = self.method.predict(x)
        done = self.adaptations - adaptations
        return Outcome(prediction, torch.cat(slots), done, self.method.cost.take(), diagnostics)

    def reset(self) -> None:
        """Back to the source model and an empty memory."""
        self.method.reset()
        self.memory.reset()
        self.offered = self.adaptations = 0

    def extra_repr(self) -> str:
        trained = sum(parameter.numel() for parameter in self.method.trained.values())
        settings = self.method.statistics
        return (
            f"method={type(self.method).__name__.lower()}, {trained:,} trained parameters, "
            f"statistics={settings.source}, memory={len(self.memory)} of {self.memory.capacity} rows, "
            f"{self.adaptations} adaptations in {self.offered} samples"
        )

    def _observe(self, x: Tensor, prediction: Prediction, part: slice) -> Tensor:
        slots = self.memory.observe(
            x,
            label=prediction.label[part],
            uncertainty=prediction.uncertainty[part],
            embedding=prediction.embedding[part],
        )
        self.offered += len(x)
        return torch.as_tensor(slots)

    def _refresh(self) -> None:
        every = self.memory.refresh_every
        if every and self.adaptations % every == 0:
            self.memory.refresh(self.method.predict)

    def _parts(self, size: int) -> Iterator[tuple[slice, bool]]:
        """The batch cut where an adaptation is due."""
        if self.adapt_every is None:
            yield slice(0, size), True
            return
        start = 0
        while start < size:
            stop = min(size, start + self.adapt_every - self.offered % self.adapt_every)
            yield slice(start, stop), (self.offered + stop - start) % self.adapt_every == 0
            start = stop

    def _check_logits(self, logits: Tensor) -> None:
        classes = self.memory.num_classes
        if logits.ndim != 2 or logits.shape[1] != classes:
            raise GottaError(f"the model gives outputs of shape {list(logits.shape)}. Expected [B, {classes}].")
        if not torch.isfinite(logits).all():
            raise GottaError(
                "the model gives NaN or infinite logits, so this batch is left out. reset() goes back to the source."
            )

    def _check(self, x: Tensor) -> None:
        expected = "Expected a floating tensor [B, ...] of finite values"
        if not isinstance(x, Tensor) or not x.is_floating_point():
            got = x.dtype if isinstance(x, Tensor) else type(x).__name__
            raise GottaError(f"a batch of {got} cannot be predicted. {expected}; images go from 0 to 1.")
        if x.ndim < 2 or (self._sample is not None and x.shape[1:] != self._sample):
            wanted = "[B, ...]" if self._sample is None else f"[B, {', '.join(map(str, self._sample))}]"
            raise GottaError(f"a batch of shape {list(x.shape)} does not fit. Expected {wanted}, as before.")
        if len(x) == 0:
            raise GottaError("the batch is empty. Leave it out.")
        if len(x) == 1 and self.method.needs_batch:
            raise GottaError(
                "a batch of one sample has no batch statistics to normalise with. Use batches of at least 2, a memory "
                "with pairing='memory', or statistics='running'."
            )
        if not torch.isfinite(x).all():
            raise GottaError(f"the batch holds NaN or infinite values. {expected}.")


def choose_statistics(
    method: type[Method], has_memory: bool, pairing: str = "paper", preset: str = "official", **given: Any
) -> Statistics:
    """What a method predicts with: its own statistics without a memory, the pairing's with one, or what is given."""
    if pairing not in PAIRINGS:
        raise unknown("pairing", pairing, PAIRINGS)
    chosen = method.usual_statistics(has_memory, preset)
    if has_memory and pairing == "memory" and chosen.source != "running":
        chosen = Statistics("running", fed_by="memory")
    changes = {"source" if name == "statistics" else name: value for name, value in given.items() if value is not None}
    return replace(chosen, **changes)


@torch.inference_mode(False)  # parameters copied in inference mode could never be trained
def adapt(
    model: nn.Module,
    method: str = "rotta",
    memory: str | Memory = "none",
    capacity: int | None = None,
    num_classes: int | None = None,
    *,
    pairing: str = "paper",
    statistics: str | None = None,
    fed_by: str | None = None,
    rate: float | None = None,
    adapt_every: int | None = None,
    score: str | None = None,
    embedding: str = "probs",
    seed: int = 0,
    inplace: bool = False,
    policy: dict[str, Any] | None = None,
    **hyper: Any,
) -> Adapted:
    """Make a model adapt to the stream it predicts: `adapt(net, method="tent", memory="fps", capacity=64)(x)`.

    A copy of the model is adapted unless `inplace`. `hyper` are the method's hyper-parameters, `policy` the memory's.
    """
    if isinstance(memory, str):
        memory = Memory(memory, capacity, num_classes, seed, **(policy or {}))
    has_memory = not memory.policy.holds_batch
    cls = methods.get(method)
    preset = hyper.get("preset", "official")
    chosen = choose_statistics(cls, has_memory, pairing, preset, statistics=statistics, fed_by=fed_by, rate=rate)
    net = model if inplace else deepcopy(model)
    built = methods.build(method, model=net, statistics=chosen, embed=embedding, seed=seed, **hyper)
    every = memory.capacity if has_memory and adapt_every is None else adapt_every
    return Adapted(built, memory, every, score or cls.native_score)
