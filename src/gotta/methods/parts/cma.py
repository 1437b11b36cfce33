"""CMA-ES (Hansen): a normal distribution that moves, widens and turns towards the better half of what is drawn from it.

With the defaults of its author's package: active covariance, cumulative step size, decomposition only when due. State
is a tuple of tensors in float64 on the CPU, which are never changed in place.
"""

from functools import cache
from math import log, sqrt
from typing import NamedTuple

import torch
from torch import Tensor


class Search(NamedTuple):
    """Where the search is, in D dimensions."""

    mean: Tensor  # [D]
    sigma: Tensor  # []
    covariance: Tensor  # [D, D]
    path: Tensor  # [D], which way the mean has gone of late
    step_path: Tensor  # [D], the same without the shape of the distribution
    basis: Tensor  # [D, D], eigenvectors of a covariance that may be older
    axes: Tensor  # [D], roots of its eigenvalues
    told: Tensor  # [], how often the search has learned
    decomposed: Tensor  # [], how often it had when basis and axes were made


class Rates(NamedTuple):
    weights: Tensor  # [population], of points from the best to the worst
    chosen: int  # how many weights are positive
    mass: float  # the effective number of chosen points
    rank_one: float
    rank_mu: float
    path: float
    step: float
    damping: float


@cache
def rates(dimensions: int, population: int) -> Rates:
    """How much a generation counts. Positive weights sum to 1; negative ones, of the worse half, to less than -1."""
    raw = [log((population + 1) / 2) - log(rank) for rank in range(1, population + 1)]
    good, bad = [w for w in raw if w > 0], [w for w in raw if w < 0]
    mass, other = (sum(part) ** 2 / sum(w * w for w in part) for part in (good, bad))
    n = dimensions
    rank_one = min(1.0, population / 6) * 2 / ((n + 1.3) ** 2 + mass)
    rank_mu = min(1 - rank_one, 2 * (0.25 + mass + 1 / mass - 2) / ((n + 2) ** 2 + mass))
    limits = 1 + rank_one / rank_mu, (1 - rank_one - rank_mu) / rank_mu / n, 1 + 2 * other / (mass + 2)
    weights = [w / sum(good) if w > 0 else -min(limits) * w / sum(bad) for w in raw]
    step = (mass + 2) / (n + mass + 3)
    damping = 1 + step + 2 * max(0.0, sqrt((mass - 1) / (n + 1)) - 1)
    path = (4 + mass / n) / (n + 4 + 2 * mass / n)
    return Rates(torch.tensor(weights, dtype=torch.float64), len(good), mass, rank_one, rank_mu, path, step, damping)


def begin(dimensions: int, sigma: float) -> Search:
    nothing, one = torch.zeros(dimensions).double(), torch.eye(dimensions).double()
    count = torch.tensor(0.0).double()
    width = torch.tensor(sigma).double()
    return Search(nothing, width, one, nothing, nothing, one, torch.ones(dimensions).double(), count, count)


def decompose(search: Search, population: int) -> Search:
    """Renew basis and axes if the covariance has changed enough: with many dimensions this is the dearest part."""
    r, n = rates(len(search.mean), population), len(search.mean)
    gap = 1 / (r.rank_one + r.rank_mu) / n / 10
    behind = float(search.told - search.decomposed)
    if behind < max(gap, 1):
        return search
    symmetric = (search.covariance + search.covariance.T) / 2
    values, basis = torch.linalg.eigh(symmetric)
    return search._replace(
        covariance=symmetric, basis=basis.contiguous(), axes=values.clamp(min=1e-20).sqrt(), decomposed=search.told
    )


def draw(search: Search, count: int, generator: torch.Generator) -> Tensor:
    """Points [count, D] of the distribution."""
    z = torch.randn(count, len(search.mean), generator=generator, dtype=torch.float64)
    return search.mean + search.sigma * (z * search.axes) @ search.basis.T


def learn(search: Search, points: Tensor, losses: Tensor, population: int) -> Search:
    """After a generation: points [N, D] (those beyond the population were not drawn) and their losses [N]."""
    n, r = len(search.mean), rates(len(search.mean), population)
    steps = (points - search.mean) / search.sigma
    far = (sqrt(n) + 2 * n / (n + 2)) / whiten(search, steps[population:]).norm(dim=1)
    steps = torch.cat([steps[:population], steps[population:] * far.clamp(max=1)[:, None]])[losses.argsort(stable=True)]
    spare = len(points) - population
    weights = torch.cat([r.weights[: r.chosen], torch.zeros(spare).double(), r.weights[r.chosen :]])

    move = r.weights[: r.chosen] @ steps[: r.chosen]
    told = search.told + 1
    step_path = (1 - r.step) * search.step_path
    step_path = step_path + sqrt(r.step * (2 - r.step) * r.mass) * whiten(search, move[None])[0]
    length = float(step_path.square().sum() / (1 - (1 - r.step) ** (2 * told)))
    steady = float(length / n < 2 + 4 / (n + 1))
    path = (1 - r.path) * search.path + steady * sqrt(r.path * (2 - r.path) * r.mass) * move

    lost = (1 - steady) * r.path * (2 - r.path)  # variance that a path which does not move fails to add
    rank_mu = r.rank_mu * weights
    kept = 1 - r.rank_one * (1 - lost) - rank_mu.sum()
    inside = n / (whiten(search, steps).norm(dim=1) + 1e-9) ** 2  # so that the covariance stays positive
    rank_mu = torch.where(rank_mu < 0, rank_mu * inside, rank_mu)
    covariance = kept * search.covariance + r.rank_one * torch.outer(path, path) + (rank_mu * steps.T) @ steps

    usual = sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))
    change = (r.step / r.damping * (step_path.norm() / usual - 1)).clamp(-1, 1)
    return search._replace(
        mean=search.mean + search.sigma * move,
        sigma=search.sigma * change.exp(),
        covariance=covariance,
        path=path,
        step_path=step_path,
        told=told,
    )


def whiten(search: Search, steps: Tensor) -> Tensor:
    """Steps [N, D] as they would be if the distribution were round."""
    return ((steps @ search.basis) / search.axes) @ search.basis.T
