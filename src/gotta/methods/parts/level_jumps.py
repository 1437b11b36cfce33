"""How the level of a BatchNorm layer jumps when the domain changes: comparing, gathering, and how far to go."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

CHANGED = 1.25  # distance from the level, in units of noise, above which the domain has changed
DOUBT, SKEWED_DOUBT = 0.1, 0.6  # of a distance that may be chance, and that the skew of classes may explain
WINDOW = 16  # samples that are compared together, at least
SETTLE = 32  # samples that a jump is made of, at least
FORGET = 1 / 16  # share of the newest sample in them, at least: earlier layers are moving meanwhile
FRAMES = 0.6  # newness of successive samples below which they are frames of a video
LEAST_SHARE = 0.2  # of a level's mean square or variance that a mix of classes is thought to have

Moments = tuple[Tensor, Tensor]  # mean and mean square of each sample, [n, c] each


class Level(NamedTuple):
    """What one layer of c channels normalises with, and what it expects of its samples in units of that."""

    mean: Tensor  # [c]
    var: Tensor  # [c]
    noise: Tensor  # [2, c], variance of one sample's mean and mean square about those of its class
    expected: Tensor  # [2, c], mean and mean square of the mix of classes that is expected
    age: Tensor  # of the level, in units of samples


class Gathered(NamedTuple):
    """What a layer has seen since a change, and its level before it."""

    level: Level  # but noise and expectation are those of now
    moments: Tensor  # [2, c]
    number: int  # of samples


def deviations(moments: Tensor, mean: Tensor, var: Tensor) -> Tensor:
    """Mean and mean square, [2, ..., c], about a level and in its units."""
    first, second = moments
    return torch.stack([(first - mean) / var.sqrt(), (second - mean * (2 * first - mean)) / var])


def expected_moments(level: Level) -> Moments:
    """Mean and mean square of the mix of classes that a layer expects, [1, c] each."""
    offset, square = level.expected
    mean = level.mean + offset * level.var.sqrt()
    return mean[None], (level.var * square + level.mean * (2 * mean - level.mean))[None]


def distance(moments: Tensor, level: Level) -> float:
    """How far moments [2, c] are from a level beyond what their classes explain: the mean square, in units of noise."""
    off = deviations(moments, level.mean, level.var) - level.expected
    return float((off.square() / level.noise).mean())


def measure_newness(moments: Tensor) -> float:
    """How far samples, [2, n, c], are from the one before, against how far apart they are: von Neumann's ratio.

    About 1 where each is for itself, however their classes come, and near 0 in a video.
    """
    steps = moments.diff(dim=1).square().mean(1)
    spread = moments.var(1, correction=0)
    return float((steps / (2 * spread)).nan_to_num(1.0, 1.0, 1.0).mean())


def gather(before: Gathered | None, level: Level, seen: Tensor, count: int) -> Gathered:
    """Add the moments of some samples to those since the change."""
    if before is None:
        return Gathered(level, seen, count)
    share = max(count / (count + before.number), 1 - (1 - FORGET) ** count)
    start = level._replace(mean=before.level.mean, var=before.level.var)
    return Gathered(start, before.moments.lerp(seen, share), before.number + count)


def jump(gathered: Gathered, last: int, skew: float, least_var: Tensor) -> Level:
    """The level after a change, `last` samples of which came last: moved as far as chance and skew do not explain."""
    level, (mean, square), number = gathered
    number = number if number == last else min(number, int(2 / FORGET))
    doubt = DOUBT + SKEWED_DOUBT * skew + 1 / number
    way = max(0.0, 1 - doubt / max(distance(gathered.moments, level), 1e-9))
    offset, share = level.expected
    var = (square - mean.square()) / (share - offset.square()).clamp_min(LEAST_SHARE)
    var = torch.maximum(var, least_var)
    return level._replace(
        mean=level.mean + way * (mean - var.sqrt() * offset - level.mean),
        var=level.var * (var / level.var) ** way,
        age=torch.zeros_like(level.age),
    )


@dataclass
class Sight:
    """One forward that is watched: what each layer saw, and what became of its level. No part of the state yet."""

    open: bool  # whether layers jump; a change may open it on the way
    newness: float  # of successive samples
    resting: bool = False  # while other samples pass
    changed: bool = False
    farthest: float = 0.0
    moments: dict[int, Moments] = field(default_factory=dict)  # by layer
    calls: dict[int, int] = field(default_factory=dict)
    levels: dict[int, Level] = field(default_factory=dict)
    gathered: dict[int, Gathered] = field(default_factory=dict)

    def note(self, at: int, found: Moments) -> bool:
        """Keep what a layer saw; whether it was called for the first time. Several calls count as their average."""
        calls = self.calls[at] = self.calls.get(at, 0) + 1
        before = self.moments.setdefault(at, found)
        if calls > 1 and before[0].shape == found[0].shape:
            mean, square = (old.lerp(new, 1 / calls) for old, new in zip(before, found, strict=True))
            self.moments[at] = mean, square
        return calls == 1

    def rows(self, idle: Mapping[int, Level], count: int) -> Tensor:
        """What all layers saw of each sample, [2, n, P].

        A layer whose rows are not the samples gives their mean to each, one that was not called what it expects.
        """
        means, squares = [], []
        for at in range(len(self.moments) + len(idle)):
            mean, square = expected_moments(idle[at]) if at in idle else self.moments[at]
            if len(mean) != count:
                mean, square = (part.mean(0, keepdim=True).expand(count, -1) for part in (mean, square))
            means.append(mean)
            squares.append(square)
        return torch.stack([torch.cat(means, 1), torch.cat(squares, 1)])

    def compare(self, moments: Tensor, level: Level, limit: float) -> None:
        """Whether what a layer sees is too far from its level to be the same domain."""
        self.farthest = max(self.farthest, distance(moments, level))
        self.open = self.changed = self.farthest > limit
