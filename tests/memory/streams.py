"""Synthetic predictions: softmax vectors over classes that come at random or in long runs, some of them twice."""

import numpy as np


def predictions(rng: np.random.Generator, size: int, num_classes: int, bursty: bool) -> dict[str, np.ndarray]:
    """label[N], uncertainty[N], embedding[N, C] of a stream; a fifth of the samples nearly repeat an earlier one."""
    if bursty:
        runs = np.repeat(rng.integers(num_classes, size=size), rng.geometric(1 / 40, size=size))[:size]
    else:
        runs = rng.integers(num_classes, size=size)
    logits = rng.normal(size=(size, num_classes))
    logits[np.arange(size), runs] += rng.uniform(0, 8 + np.log(num_classes), size)
    for i in np.flatnonzero(rng.random(size) < 0.2):
        if i:
            logits[i] = logits[rng.integers(max(0, i - 200), i)] + rng.normal(size=num_classes) * rng.choice(
                [0, 1e-2, 0.3]
            )
    p = np.exp(logits - logits.max(1, keepdims=True))
    p = (p / p.sum(1, keepdims=True)).astype(np.float32)
    q = p.astype(np.float64)
    return {"label": p.argmax(1), "uncertainty": -(q * np.log(q + 1e-6)).sum(1), "embedding": p}
