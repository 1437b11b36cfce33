"""How far samples are from the level of a BatchNorm layer, which of them count, and where a level jumps to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

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


def mean_distance(moments: Sequence[Tensor], levels: Sequence[Level]) -> float:
    """The average over layers of [2, n, c] each, no channel counting for more than `MOST_TERM`."""
    terms = _terms(torch.cat([part.mean(1) for part in moments], 1), _side_by_side(levels))
    return float(_mean_of_layers(terms.clamp(max=MOST_TERM), levels))


def single_distances(moments: Sequence[Tensor], levels: Sequence[Level]) -> Tensor:
    """How far each sample of [2, n, c] by layer is from the level, [n]."""
    terms = _terms(torch.cat(list(moments), 2), _side_by_side(levels))
    return _mean_of_layers(terms.clamp(max=MOST_SINGLE), levels)


def is_far(distances: Tensor, among: Tensor) -> Tensor:
    """Which samples, [n], are far from the level where a tenth of those they are `among` is near."""
    return distances > torch.clamp(FAR_AMONG * among.quantile(NEAREST), min=FAR)


def _terms(moments: Tensor, level: Level) -> Tensor:
    noise, expected = level.noise, level.expected
    if moments.ndim == 3:
        noise, expected = noise[:, None], expected[:, None]
    return (deviations(moments, level.mean, level.var) - expected).square() / noise.clamp_min(LEAST_UNIT)


def _side_by_side(levels: Sequence[Level]) -> Level:
    """All layers as one, which takes a fraction of the operations."""
    return Level(*(torch.cat(parts, -1) for parts in zip(*levels, strict=True)))


def _mean_of_layers(terms: Tensor, levels: Sequence[Level]) -> Tensor:
    """The average over the channels of each layer, and then over layers: [2, ..., P] to [...]."""
    return terms.mean(0) @ _shares(tuple(len(level.mean) for level in levels), terms.device)


@lru_cache(maxsize=64)
def _shares(sizes: tuple[int, ...], device: torch.device) -> Tensor:
    """Of each channel in that average, [P]."""
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
