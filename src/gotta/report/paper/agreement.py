"""How far two rankings agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt


@dataclass(frozen=True)
class Agreement:
    """Kendall's tau-b over the things both rank; None where there is nothing to order."""

    tau: float | None
    names: tuple[str, ...]

    def __str__(self) -> str:
        shown = "not defined" if self.tau is None else f"{self.tau:+.2f}"
        return f"{shown} (n={len(self.names)})"


def agreement(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Agreement:
    """Over the names that both have."""
    names = tuple(name for name in ours if name in theirs)
    return Agreement(tau_b([ours[name] for name in names], [theirs[name] for name in names]), names)


def rank_in(value: float, values: Sequence[float]) -> int:
    """1 for the highest; equal ones share the better rank.

    >>> [rank_in(value, [50, 60, 60, 40]) for value in (60, 50, 40)]
    [1, 3, 4]
    """
    return 1 + sum(other > value for other in values)


def tau_b(first: Sequence[float], second: Sequence[float]) -> float | None:
    """1 is the same order, -1 the reverse; pairs tied in one of the two count against both. None if all are tied.

    >>> tau_b([1, 2, 3], [10, 30, 20])
    0.3333333333333333
    """
    pairs = list(combinations(zip(first, second, strict=True), 2))
    signs = [(_sign(a[0] - b[0]), _sign(a[1] - b[1])) for a, b in pairs]
    together = sum(x * y for x, y in signs)
    untied = [sum(x != 0 for x, _ in signs), sum(y != 0 for _, y in signs)]
    return together / sqrt(untied[0] * untied[1]) if all(untied) else None


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
