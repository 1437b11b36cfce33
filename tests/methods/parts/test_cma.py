"""The search finds minima, learns from ranks alone, and leaves what it is given as it was."""

import pytest
import torch

from gotta.methods.parts.cma import begin, decompose, draw, learn, rates

POPULATION = 8


def ellipsoid(points):
    """Least at (1, 1, ...); the last coordinate counts 100 times as much as the first."""
    scales = torch.logspace(0, 2, points.shape[1], dtype=torch.float64)
    return (scales * (points - 1).square()).sum(1)


def search_for(loss, generations, dimensions=6, sigma=0.5):
    generator, search = torch.Generator().manual_seed(5), begin(dimensions, sigma)
    for _ in range(generations):
        search = decompose(search, POPULATION)
        points = draw(search, POPULATION, generator)
        search = learn(search, points, loss(points), POPULATION)
    return search


def test_its_rates_are_those_of_the_authors_package():
    six = rates(6, POPULATION)  # as cma 4.0.0 has them
    assert six.weights.tolist() == pytest.approx(
        [0.529930, 0.285714, 0.142857, 0.041498, -0.146812, -0.400863, -0.615660, -0.801726], abs=1e-6
    )
    assert (six.rank_one, six.rank_mu, six.path) == pytest.approx((0.0357845, 0.0370800, 0.4079760), abs=1e-6)
    assert (six.step, six.damping) == pytest.approx((0.3965610, 1.3965610), abs=1e-6)
    assert six.weights[: six.chosen].sum() == pytest.approx(1, abs=1e-15)


def test_it_finds_the_minimum_of_a_long_valley():
    found = search_for(ellipsoid, 250)
    assert found.mean.tolist() == pytest.approx([1.0] * 6, abs=1e-3)
    variance = found.covariance.diagonal()
    assert variance[0] > 10 * variance[-1], "it is wide where the loss is flat"
    assert torch.linalg.eigvalsh(found.covariance).min() > 0


def test_it_grows_on_a_slope_and_shrinks_at_a_minimum():
    assert search_for(lambda points: points.sum(1), 20).sigma > 1
    assert search_for(lambda points: points.square().sum(1), 40).sigma < 0.1


def test_only_the_order_of_losses_counts():
    points = draw(begin(4, 1.0), POPULATION, torch.Generator().manual_seed(1))
    losses = ellipsoid(points)
    one, other = (learn(begin(4, 1.0), points, told, POPULATION) for told in (losses, losses.exp()))
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_point_from_elsewhere_counts_as_if_it_were_near():
    search = begin(4, 1.0)
    points = draw(search, POPULATION, torch.Generator().manual_seed(1))
    means = []
    for distance in (50.0, 5000.0):
        far = torch.full((1, 4), distance, dtype=torch.float64)
        with_far = torch.cat([points, far])
        losses = torch.arange(POPULATION + 1.0).roll(-1)  # the far one is the best
        losses[-1] = -1
        means.append(learn(search, with_far, losses, POPULATION).mean)
    assert torch.allclose(*means, rtol=0, atol=1e-12)
    assert means[0].abs().max() < 4


def test_it_decomposes_only_when_due_and_changes_nothing_in_place():
    search = begin(200, 1.0)
    before = [part.clone() for part in search]
    points = draw(search, POPULATION, torch.Generator().manual_seed(2))
    learned = learn(search, points, ellipsoid(points), POPULATION)
    assert all(torch.equal(a, b) for a, b in zip(search, before, strict=True))
    assert decompose(learned, POPULATION) is learned, "with many dimensions one generation changes little"
    later = learned._replace(told=torch.tensor(200.0).double())
    renewed = decompose(later, POPULATION)
    assert renewed.decomposed == 200
    whole = renewed.basis * renewed.axes.square() @ renewed.basis.T
    assert torch.allclose(whole, learned.covariance, atol=1e-12)
