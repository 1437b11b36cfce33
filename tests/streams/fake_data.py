"""A data set in memory whose pixels tell which image of which domain they are."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gotta.streams.schedule import STANDARD_ORDER
from gotta.types import Images, IntArray, domain_name

ALL_DOMAINS = tuple(domain_name(name, severity) for name in STANDARD_ORDER for severity in range(1, 6))


class FakeDataset:
    """Images of 2 x 2 pixels: channel 0 and 1 hold the row, channel 2 the position of the domain."""

    def __init__(
        self, labels: Sequence[int] | IntArray, domains: Sequence[str] = ALL_DOMAINS, num_classes: int | None = None
    ) -> None:
        self.labels = np.asarray(labels, np.int64)
        self.domains = tuple(domains)
        self.num_classes = int(self.labels.max()) + 1 if num_classes is None else num_classes
        self.asked = 0

    def images(self, domain: str, indices: IntArray) -> Images:
        self.asked += 1
        pixels = np.zeros((len(indices), 2, 2, 3), np.uint8)
        pixels[..., 0] = (indices % 256)[:, None, None]
        pixels[..., 1] = (indices // 256)[:, None, None]
        pixels[..., 2] = self.domains.index(domain)
        return pixels


def balanced(classes: int, each: int, seed: int = 0) -> IntArray:
    return np.random.RandomState(seed).permutation(np.repeat(np.arange(classes), each))


def published(name: str) -> Any:
    """What published code gave: inputs and outputs, as golden/orders/README.md tells."""
    return json.loads((Path(__file__).parents[1] / "golden" / "orders" / f"{name}.json").read_text())


def next_draws(rng: np.random.RandomState) -> list[int]:
    """The same three numbers if the same random numbers were used before."""
    return rng.randint(0, 2**31 - 1, 3).tolist()
