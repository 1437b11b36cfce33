"""Global class imbalance: some classes have many times the images of others, all over the stream (TRIBE)."""

import numpy as np

from gotta.streams.order import Rng
from gotta.types import IntArray


def thin_classes(labels: IntArray, imbalance: float, rng: Rng, head: str = "first") -> IntArray:
    """The positions of the labels that stay, class by class: of each class random ones, as many as `class_sizes` says.

    With the head `random`, which class has how many is drawn. The random numbers are drawn as TRIBE's code does.
    """
    members = [np.flatnonzero(labels == y) for y in np.unique(labels)]
    sizes = class_sizes(len(members[0]), len(members), imbalance)
    if head == "random":
        rng.shuffle(sizes)
    return np.concatenate([rows[rng.permutation(len(rows))[:size]] for rows, size in zip(members, sizes, strict=True)])


def class_sizes(most: int, classes: int, imbalance: float) -> list[int]:
    """`most` images of the first class, a so many times smaller number of the last, in equal ratios between them.

    >>> class_sizes(100, 3, 100)
    [100, 10, 1]
    """
    return [int(most * (1.0 / imbalance) ** (k / max(classes - 1.0, 1.0))) for k in range(classes)]
