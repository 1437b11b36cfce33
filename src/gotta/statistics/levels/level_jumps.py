"""How far samples are from the level of a BatchNorm layer, which of them count, and where a level jumps to."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

DOUBT, SKEWED_DOUBT = 0.1, 0.6  # of a distance that may be chance, and that the skew of the classes may explain
DEEP_DOUBT = 6.0  # the same for the last layer, which carries the class; it grows from the middle of the network on
MOST_TERM = 4.0  # of one channel in a distance: a channel with next to no variance must not decide
LEAST_SHARE = 0.2  # of a level's mean square or variance that a mix of classes is thought to have
FAR = 4.0  # distance of a single sample, in units of noise, beyond which it may belong to nothing
FAR_AMONG, NEAREST = 3.0, 0.1  # the same, in units of the nearest tenth of its batch: a new domain is far as a whole
MOST_SINGLE = 25.0  # of one channel in the distance of a single sample
LEAST_UNIT = 0.01  # of noise, in these distances

Moments = tuple[Tensor, Tensor]  # mean and mean square of each sample, [n, c] each


class Level(NamedTuple):
    """What one layer of c channels normalises with, and what it expects of its samples in units of that."""

    mean: Tensor  # [c]
    var: Tensor  # [c]
    noise: Tensor  # [2, c], variance of one sample's mean and mean square about those of its class
    expected: Tensor  # [2, c], mean and mean square of the mix of classes that is expected


class Yardstick(NamedTuple):
    """Layers side by side, to measure distances from: one layer of all their channels takes a fraction of the time."""

    level: Level  # of all their channels, P
    deviation: Tensor  # [P]
    unit: Tensor  # [2, P], of noise
    shares: Tensor  # [P], of each channel in the average over the channels of each layer, and then over layers

    @classmethod
    def of(cls, level: Level, sizes: Sequence[int]) -> "Yardstick":
        """Of layers of so many channels."""
        shares = _shares(tuple(sizes), level.mean.device)
        return cls(level, level.var.sqrt(), level.noise.clamp_min(LEAST_UNIT), shares)

    def terms(self, moments: Tensor, most: float) -> Tensor:
        """How far each channel of [2, n, P] is off, [n, P], no more than `most` each."""
        (first, second), mean, var = moments, self.level.mean, self.level.var
        off = torch.stack([(first - mean) / self.deviation, (second - mean * (2 * first - mean)) / var])
        off = off.sub_(self.level.expected[:, None]).square_().div_(self.unit[:, None])
        return off.clamp_(max=most).mean(0)


def exactly(like: Tensor) -> AbstractContextManager[Any]:
    """Inside, nothing is computed in half precision. To enter `autocast` takes as long as ten small operations."""
    kind = like.device.type
    return torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext()


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


def mean_distance(moments: Tensor, yardstick: Yardstick) -> float:
    """How far the mean of samples, [2, P], is from the level, no channel counting for more than `MOST_TERM`."""
    with exactly(moments):
        return float(yardstick.terms(moments[:, None], MOST_TERM)[0] @ yardstick.shares)


def single_distances(moments: Tensor, yardstick: Yardstick) -> Tensor:
    """How far each sample of [2, n, P] is from the level, [n]."""
    return yardstick.terms(moments, MOST_SINGLE) @ yardstick.shares


def is_far(distances: Tensor, among: Tensor) -> Tensor:
    """Which samples, [n], are far from the level where a tenth of those they are `among` is near."""
    return distances > torch.clamp(FAR_AMONG * among.quantile(NEAREST), min=FAR)


def join_layers(levels: Sequence[Level]) -> Yardstick:
    """Layers side by side."""
    joined = Level(*(torch.cat(parts, -1) for parts in zip(*levels, strict=True)))
    return Yardstick.of(joined, [len(level.mean) for level in levels])


@lru_cache(maxsize=64)
def _shares(sizes: tuple[int, ...], device: torch.device) -> Tensor:
    return torch.cat([torch.full((size,), 1 / (size * len(sizes))) for size in sizes]).to(device)


def measure_newness(moments: Tensor) -> float:
    """How far samples, [2, n, c], are from the one before, against how far apart they are: von Neumann's ratio.

    About 1 where each is for itself, however their classes come, and near 0 in a video.
    """
    steps = moments.diff(dim=1).square().mean(1)
    spread = moments.var(1, correction=0)
    return float((steps / (2 * spread)).nan_to_num(1.0, 1.0, 1.0).mean())


def jump(level: Level, moments: Tensor, number: int, skew: float, depth: float, least_var: Tensor) -> Level:
    """The level moved towards the moments [2, c] of so many samples, as far as chance and skew do not explain them.

    `depth` is 0 in the first half of the layers and 1 in the last one.
    """
    mean, square = moments
    doubt = DOUBT + (SKEWED_DOUBT + DEEP_DOUBT * depth) * skew + 1 / number
    way = max(0.0, 1 - doubt / max(distance(moments, level), 1e-9))
    offset, share = level.expected
    var = (square - mean.square()) / (share - offset.square()).clamp_min(LEAST_SHARE)
    var = torch.maximum(var, least_var)
    return level._replace(
        mean=level.mean + way * (mean - var.sqrt() * offset - level.mean), var=level.var * (var / level.var) ** way
    )


@dataclass
class Plan:
    """Layers jump during a forward: the first `layers` of them, by the moments of the samples that count."""

    skew: float
    layers: int
    expected: Tensor  # [2, P]
    noise: Tensor  # [2, P]
    gathered: Tensor  # moments of earlier samples under the same plan, [2, P]
    number: int  # of these


@dataclass
class Sight:
    """One forward that is watched: what each layer saw, and what it normalised with. No part of the state."""

    mean: Tensor  # [P], of the levels before
    var: Tensor
    plan: Plan | None = None
    counts: Tensor | None = None  # which samples count, [n]; all where None
    resting: bool = False  # while other samples pass
    moments: dict[int, Moments] = field(default_factory=dict)  # by layer
    calls: dict[int, int] = field(default_factory=dict)
    levels: dict[int, Level] = field(default_factory=dict)  # of layers that jumped
    whole: Tensor | None = None  # what all layers saw, once that was asked for or where it was seen ahead

    @classmethod
    def ahead(cls, mean: Tensor, var: Tensor, whole: Tensor, layers: int) -> "Sight":
        """Of a forward that was made before, in which each layer was called once: [2, n, P]."""
        return cls(mean, var, calls=dict.fromkeys(range(layers), 1), whole=whole)

    def first_saw(self, count: int) -> bool:
        """Whether the first layer was given a row for each of so many samples."""
        return 0 in self.calls and (0 not in self.moments or self.moments[0][0].shape[0] == count)

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
        if self.whole is not None and not idle and self.whole.shape[1] == count:
            return self.whole
        means, squares = [], []
        for at in range(len(self.moments) + len(idle)):
            mean, square = expected_moments(idle[at]) if at in idle else self.moments[at]
            if mean.shape[0] != count:
                mean, square = (part.mean(0, keepdim=True).expand(count, -1) for part in (mean, square))
            means.append(mean)
            squares.append(square)
        self.whole = torch.stack([torch.cat(means, 1), torch.cat(squares, 1)])
        return self.whole
