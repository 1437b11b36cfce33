"""What the forward that holds the levels says of its samples: how far they are off, and which of them count."""

from typing import NamedTuple

import torch
from torch import Tensor

from gotta.statistics.levels.level_jumps import (
    Sight,
    deviations,
    is_far,
    mean_distance,
    measure_newness,
    single_distances,
)
from gotta.statistics.levels.levels import Levels

WINDOW = 16  # samples that are compared together, and that a trial is made of, at least
FEWEST = 8  # samples that a far one is judged among, at least
RECENT = 32  # samples that a repeated one is looked for among
SAME = 1e-5  # share by which copies of a sample may differ, by rounding
PAIRS = 2**22  # numbers that are compared at once to find copies, so that this takes little memory
STEADY = 256  # samples that the newness of samples counts for
LEAST_NOISE = 1e-4  # of single samples, so that a channel that never changes has a distance


class Look(NamedTuple):
    """What the forward that holds the levels says of its samples."""

    counts: Tensor | None  # which samples count, [n]; all where None
    counted: int
    number: int  # of samples that count, with those that wait
    distance: float  # from the level
    noise: Tensor
    newness: float
    seen: dict[str, Tensor]  # of the last samples, whether they count or not
    mean: Tensor  # prediction of the samples that count, [C]


def look_at(levels: Levels, x: Tensor, sight: Sight, logits: Tensor) -> Look:
    """What the forward that holds the levels says of its samples, and of those that wait."""
    rows = sight.rows(levels.idle_in(sight), len(x))
    shallow = slice(levels.places[levels.half - 1].stop)  # layers side by side
    flat = x.detach().reshape(len(x), -1)
    counts = flat.amax(1) > flat.amin(1) if flat.shape[1] > 1 else torch.ones(len(x), dtype=torch.bool, device=x.device)
    first = rows[:, :, levels.places[0]].transpose(0, 1).flatten(1)  # [n, 2 c]
    counts = counts.to(first.device)
    if 0 in sight.moments and len(sight.moments[0][0]) == len(x):  # or all would seem to be the same
        counts &= ~find_repeated(torch.cat([levels.recent, first]), len(levels.recent))
    held = levels.held[: levels.half]
    off = single_distances([rows[:, :, shallow]], held)
    distances = torch.cat([levels.distances, off[counts]])[-RECENT:]
    among = off[counts] if int(counts.sum()) >= WINDOW else distances
    if len(among) >= FEWEST:
        counts &= ~is_far(off, among)
    recent = torch.cat([levels.recent, first])[-RECENT:]
    window = torch.cat([torch.ones_like(levels.labels, dtype=torch.bool), counts])
    number = int(window.sum())
    noise, newness = levels.noise, levels.newness
    if number >= WINDOW:
        kept = _window(levels, rows, slice(None))[:, window]
        if not levels.known:
            noise = deviations(kept, levels.mean, levels.var).var(1, correction=0).clamp_min(LEAST_NOISE)
        share = number / (number + STEADY) if levels.known else 1.0
        newness += share * (measure_newness(kept[:, :, levels.places[0]]) - newness)
        held = [level._replace(noise=noise[:, levels.places[at]]) for at, level in enumerate(held)]
    distance = mean_distance([_window(levels, rows, shallow)[:, window]], held) if number else 0.0
    return Look(
        counts=None if bool(counts.all()) else counts,
        counted=int(counts.sum()),
        number=number,
        distance=distance,
        noise=noise,
        newness=newness,
        seen={"recent": recent, "distances": distances},
        mean=logits.detach()[counts.to(logits.device)].double().softmax(1).mean(0).cpu(),
    )


def _window(levels: Levels, rows: Tensor, place: slice) -> Tensor:
    """What some channels saw of the samples, after what they saw of those that wait."""
    found = rows[:, :, place]
    return torch.cat([levels.waiting[:, :, place], found], 1) if len(levels.labels) else found


def find_repeated(rows: Tensor, known: int) -> Tensor:
    """Which rows after the first `known` ones stand before as well, [n]: copies up to rounding."""
    few, limit = max(1, PAIRS // rows.numel()), SAME * (rows.abs() + SAME)
    close = [((part[:, None] - rows).abs() <= limit).all(2) for part in torch.split(rows[known:], few)]
    return torch.cat(close).tril(known - 1).any(1)
