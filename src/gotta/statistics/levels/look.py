"""What a forward saw of its samples: how far they are from the levels, which of them count, and where a level jumps to.

`Sight` is a forward that is watched. `Look` says what it means: whether a trial is worth its forwards.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gotta.statistics.levels.evidence import WINDOW
from gotta.types import computed_once

if TYPE_CHECKING:
    from gotta.statistics.levels.levels import Levels

DOUBT, SKEWED_DOUBT = 0.1, 0.6  # of a distance that may be chance, and that the skew of the classes may explain
DEEP_DOUBT = 6.0  # the same for the last layer, which carries the class; it grows from the middle of the network on
MOST_TERM = 4.0  # of one channel in a distance: a channel with next to no variance must not decide
LEAST_SHARE = 0.2  # of a level's mean square or variance that a mix of classes is thought to have
FAR = 4.0  # distance of a single sample, in units of noise, beyond which it may belong to nothing
FAR_AMONG, NEAREST = 3.0, 0.1  # the same, in units of the nearest tenth of its batch: a new domain is far as a whole
MOST_SINGLE = 25.0  # of one channel in the distance of a single sample
LEAST_UNIT = 0.01  # of noise, in these distances
FEWEST = 8  # samples that a far one is judged among, at least
RECENT = 32  # samples that a repeated one is looked for among
SAME = 1e-5  # share by which copies of a sample may differ, by rounding
PAIRS = 2**22  # numbers that are compared at once to find copies, so that this takes little memory
STEADY = 256  # samples that the newness of samples counts for
LEAST_NOISE = 1e-4  # of single samples, so that a channel that never changes has a distance
FIRST_WAIT = 64  # samples from a trial that fails to the next
LOOK, LOOK_AWAY = 0.08, 0.5  # distance that is worth a trial: from the source, and from the level of a found domain
CHANCE = 1.5  # samples' worth of distance that is chance, added to both
MORE = 1.3  # times a distance that a trial has refused: only what is farther off is tried at once
SURE = 1.7  # distance, beyond the one at home, that only a change of domain explains
SURE_WAIT = 256  # samples until the next trial at such a distance, at most
OTHER = 0.5  # share of the predictions that are of other classes, where the classes have changed since the last trial
FRAMES = 0.6  # newness of successive samples below which they are frames of a video

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

    About 1 for independent samples, whatever the order of their classes, and near 0 in a video.
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
class Sight:
    """One forward that is watched: what each layer saw, and what it normalised with. No part of the state."""

    mean: Tensor  # [P], of the levels before
    var: Tensor
    jump: Callable[[int, Moments], Level] | None = None  # what a layer jumps to by what it sees, on trial
    jumping: int = 0  # how many layers do, from the first one on
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


@dataclass
class Look:
    """What the forward that holds the levels says of its samples; what is rarely asked for, once it is."""

    levels: "Levels"
    rows: Tensor  # what all layers saw of each sample, [2, n, P]
    logits: Tensor
    counts: Tensor | None  # which samples count, [n]; all where None
    counted: int
    seen: dict[str, Tensor]  # of the last samples, whether they count or not

    @property
    def number(self) -> int:
        """Of samples that count, with those that wait."""
        return self.levels.labels.shape[0] + self.counted

    @computed_once
    def window(self) -> Tensor:
        """What all layers saw of them, [2, number, P]."""
        rows = self.rows if self.counts is None else self.rows[:, self.counts]
        return torch.cat([self.levels.waiting, rows], 1) if len(self.levels.labels) else rows

    @computed_once
    def distance(self) -> float:
        """From the level."""
        levels, yardstick = self.levels, self.levels.yardstick
        if self.noise is not levels.noise:
            level = yardstick.level._replace(noise=self.noise[:, levels.shallow])
            yardstick = Yardstick.of(level, levels.sizes[: levels.half])
        return mean_distance(self.window[:, :, levels.shallow].mean(1), yardstick) if self.number else 0.0

    @computed_once
    def noise(self) -> Tensor:
        """Of single samples, as far as it is known or these can tell."""
        levels = self.levels
        if levels.known or self.number < WINDOW:
            return levels.noise
        return deviations(self.window, levels.mean, levels.var).var(1, correction=0).clamp_min(LEAST_NOISE)

    @computed_once
    def newness(self) -> float:
        levels, number = self.levels, self.number
        if number < WINDOW:
            return levels.newness
        share = number / (number + STEADY) if levels.known else 1.0
        return levels.newness + share * (measure_newness(self.window[:, :, levels.places[0]]) - levels.newness)

    @computed_once
    def mean(self) -> Tensor:
        """Prediction of the samples that count, [C]."""
        logits = self.logits.detach()
        logits = logits if self.counts is None else logits[self.counts.to(logits.device)]
        return logits.double().softmax(1).mean(0).cpu()

    @property
    def is_video(self) -> bool:
        return self.newness < FRAMES

    @property
    def is_farther(self) -> bool:
        """Whether samples are farther off than all that trials have refused."""
        return self.distance > MORE * self.levels.refused

    @property
    def is_worth_a_trial(self) -> bool:
        """Whether samples are far enough off, and farther than, other than or long enough after what has failed."""
        levels = self.levels
        if not self.counted or (levels.away and self.is_video):
            return False
        if levels.trying:
            return True
        limit = (LOOK_AWAY if levels.away else LOOK) + CHANCE / max(self.number, 1)
        if self.number < WINDOW or self.distance <= limit:
            return False
        known = len(levels.tried) == len(self.mean)
        other = known and float((self.mean - levels.tried.cpu()).abs().sum()) / 2 > OTHER
        since = levels.since + self.counted
        if self.is_farther:
            return True
        if self.distance - levels.home >= SURE and since >= (FIRST_WAIT if levels.in_hand >= 1 else SURE_WAIT):
            return True
        return levels.in_hand >= 1 and (since >= levels.wait or other)


class Noted(NamedTuple):
    """What was computed of the samples of one stream together with those of others."""

    rows: Tensor  # what all layers saw of each sample, [2, n, P]
    uneven: Tensor  # which samples are not constant, [n]


def look_at(levels: "Levels", x: Tensor, sight: Sight, logits: Tensor, noted: Noted | None = None) -> Look:
    """What the forward that holds the levels says of its samples, and of those that wait."""
    count, known = x.shape[0], levels.recent.shape[0]
    rows = sight.rows(levels.idle_in(sight), count)
    first = rows[:, :, levels.places[0]].transpose(0, 1).flatten(1)  # [n, 2 c]
    recent = torch.cat([levels.recent, first])
    counts = find_uneven(x).to(first.device) if noted is None else noted.uneven
    if sight.first_saw(count):  # or all would seem to be the same
        counts = counts & ~find_repeated(recent, known)
    off, counted = single_distances(rows[:, :, levels.shallow], levels.yardstick), int(counts.sum())
    near = off if counted == count else off[counts]
    distances = torch.cat([levels.distances, near])[-RECENT:]
    among = near if counted >= WINDOW else distances
    if among.shape[0] >= FEWEST and bool((off > FAR).any()):
        counts = counts & ~is_far(off, among)
        counted = int(counts.sum())
    seen = {"recent": recent[-RECENT:], "distances": distances}
    return Look(levels, rows, logits, None if counted == count else counts, counted, seen)


def find_uneven(x: Tensor) -> Tensor:
    """Which samples are not constant, [n]; a single number never is."""
    flat = x.detach().flatten(1)
    return flat.amax(1) > flat.amin(1) if flat.shape[1] > 1 else torch.ones_like(flat[:, 0], dtype=torch.bool)


def find_repeated(rows: Tensor, known: int) -> Tensor:
    """Which rows after the first `known` ones stand before as well, [n]: copies up to rounding."""
    column = rows[:, 0].cpu().numpy()
    close = np.abs(column[known:, None] - column) <= SAME * (np.abs(column) + SAME)
    if not np.tril(close, known - 1).any():  # one number tells most of them apart, at a fraction of the time
        return torch.zeros(len(rows) - known, dtype=torch.bool, device=rows.device)
    few, limit = max(1, PAIRS // rows.numel()), SAME * (rows.abs() + SAME)
    copies = [((part[:, None] - rows).abs() <= limit).all(2) for part in torch.split(rows[known:], few)]
    return torch.cat(copies).tril(known - 1).any(1)
