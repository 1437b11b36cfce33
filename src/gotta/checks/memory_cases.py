"""Streams to check memory policies on: small, random, and of the kinds that break things."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = ("iid", "bursty", "one class", "duplicates", "constant embeddings", "repeats")


@dataclass(frozen=True)
class Case:
    """A stream and a memory to offer it to, as a few numbers."""

    kind: str
    num_classes: int
    capacity: int
    batches: int
    batch_size: int
    seed: int

    def stream(self) -> "Samples":
        return samples(self.kind, self.num_classes, self.batches * self.batch_size, self.seed)


@dataclass(frozen=True)
class Samples:
    """x[N, 2] (id and noise), label[N], uncertainty[N], embedding[N, D]."""

    x: NDArray[np.float32]
    label: NDArray[np.int64]
    uncertainty: NDArray[np.float64]
    embedding: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.label)

    def part(self, start: int, stop: int) -> dict[str, Any]:
        """The arguments of `observe` for some samples, as copies."""
        return {name: getattr(self, name)[start:stop].copy() for name in ("x", "label", "uncertainty", "embedding")}

    def parts(self, size: int) -> Iterator[dict[str, Any]]:
        return (self.part(start, start + size) for start in range(0, len(self), size))


def draw(pick: Callable[[int, int], int]) -> Case:
    """A case from a source of whole numbers between two bounds."""
    return Case(
        kind=KINDS[pick(0, len(KINDS) - 1)],
        num_classes=pick(2, 12),
        capacity=pick(1, 20),
        batches=pick(1, 6),
        batch_size=pick(1, 24),
        seed=pick(0, 2**16),
    )


def samples(kind: str, num_classes: int, size: int, seed: int) -> Samples:
    """Predictions with softmax embeddings. Except in `duplicates`, `constant embeddings` and `repeats` nothing ties."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    target = rng.integers(num_classes, size=size)
    if kind == "bursty":
        target = np.repeat(target, rng.geometric(0.1, size=size))[:size]
    if kind in ("one class", "duplicates"):
        target[:] = target[0]
    logits = rng.normal(size=(size, num_classes))
    logits[np.arange(size), target] += rng.uniform(1, 9, size)
    if kind == "duplicates":
        logits[:] = logits[0]
    if kind == "repeats":
        for i in range(1, size):
            if rng.random() < 0.4:
                logits[i] = logits[rng.integers(i)] + rng.choice([0.0, 1e-3]) * rng.normal(size=num_classes)
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    uncertainty = -(p * np.log(p + 1e-6)).sum(1)
    embedding = np.full_like(p, 0.5) if kind == "constant embeddings" else p
    x = np.stack([np.arange(size), rng.normal(size=size)], 1)
    return Samples(x.astype(np.float32), logits.argmax(1), uncertainty, embedding.astype(np.float32))
