"""What the forward that holds the levels says of its samples: how far they are off, and which of them count."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from gotta.statistics.levels.evidence import WINDOW
from gotta.statistics.levels.level_jumps import (
    FAR,
    Sight,
    Yardstick,
    deviations,
    is_far,
    mean_distance,
    measure_newness,
    single_distances,
)
from gotta.statistics.levels.levels import Levels

FEWEST = 8  # samples that a far one is judged among, at least
RECENT = 32  # samples that a repeated one is looked for among
SAME = 1e-5  # share by which copies of a sample may differ, by rounding
PAIRS = 2**22  # numbers that are compared at once to find copies, so that this takes little memory
STEADY = 256  # samples that the newness of samples counts for
LEAST_NOISE = 1e-4  # of single samples, so that a channel that never changes has a distance


@dataclass
class Look:
    """What the forward that holds the levels says of its samples; what is rarely asked for, once it is."""

    levels: Levels
    rows: Tensor  # what all layers saw of each sample, [2, n, P]
    logits: Tensor
    counts: Tensor | None  # which samples count, [n]; all where None
    counted: int
    seen: dict[str, Tensor]  # of the last samples, whether they count or not

    @property
    def number(self) -> int:
        """Of samples that count, with those that wait."""
        return self.levels.labels.shape[0] + self.counted

    @cached_property
    def window(self) -> Tensor:
        """What all layers saw of them, [2, number, P]."""
        rows = self.rows if self.counts is None else self.rows[:, self.counts]
        return torch.cat([self.levels.waiting, rows], 1) if len(self.levels.labels) else rows

    @cached_property
    def distance(self) -> float:
        """From the level."""
        levels, yardstick = self.levels, self.levels.yardstick
        if self.noise is not levels.noise:
            level = yardstick.level._replace(noise=self.noise[:, levels.shallow])
            yardstick = Yardstick.of(level, levels.sizes[: levels.half])
        return mean_distance(self.window[:, :, levels.shallow].mean(1), yardstick) if self.number else 0.0

    @cached_property
    def noise(self) -> Tensor:
        """Of single samples, as far as it is known or these can tell."""
        levels = self.levels
        if levels.known or self.number < WINDOW:
            return levels.noise
        return deviations(self.window, levels.mean, levels.var).var(1, correction=0).clamp_min(LEAST_NOISE)

    @cached_property
    def newness(self) -> float:
        levels, number = self.levels, self.number
        if number < WINDOW:
            return levels.newness
        share = number / (number + STEADY) if levels.known else 1.0
        return levels.newness + share * (measure_newness(self.window[:, :, levels.places[0]]) - levels.newness)

    @cached_property
    def mean(self) -> Tensor:
        """Prediction of the samples that count, [C]."""
        logits = self.logits.detach()
        logits = logits if self.counts is None else logits[self.counts.to(logits.device)]
        return logits.double().softmax(1).mean(0).cpu()


class Noted(NamedTuple):
    """What was computed of the samples of one stream together with those of others."""

    rows: Tensor  # what all layers saw of each sample, [2, n, P]
    uneven: Tensor  # which samples are not constant, [n]


def look_ahead(x: Tensor, rows: Tensor, sizes: list[int]) -> list[Noted]:
    """Of samples that are in the order of their streams, which have so many each."""
    parts = zip(torch.split(rows, sizes, 1), torch.split(find_uneven(x).to(rows.device), sizes), strict=True)
    return [Noted(seen.contiguous(), uneven) for seen, uneven in parts]  # a copy, so that a stream keeps its own alone


def look_at(levels: Levels, x: Tensor, sight: Sight, logits: Tensor, noted: Noted | None = None) -> Look:
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
