"""Intervals: small examples by hand, and how often they cover on simulated data."""

import numpy as np
import pytest
from reference.bootstrap import bootstrap
from scipy.stats import t as student

from gotta.errors import GottaError
from gotta.report.pairs import Difference
from gotta.report.statistics import estimate, estimate_over_seeds, predict_half


def simulated(seeds, domains, of_seed, of_domain, of_both, count, rng):
    """`count` tables around zero with the given standard deviations of seeds, domains and what is left."""
    return (
        rng.normal(0, of_seed, (count, seeds, 1))
        + rng.normal(0, of_domain, (count, 1, domains))
        + rng.normal(0, of_both, (count, seeds, domains))
    )


def coverage(tables):
    return np.mean([abs(found.mean) <= found.half for found in map(estimate, tables)])


def test_over_seeds_it_is_students_t():
    means = [55.0, 56.0, 59.0]
    found = estimate_over_seeds(means)
    low, high = student.interval(0.95, 2, loc=np.mean(means), scale=np.std(means, ddof=1) / np.sqrt(3))
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high))


@pytest.mark.parametrize(("seeds", "domains", "judged"), [(1, 15, False), (2, 2, False), (2, 3, True), (5, 1, True)])
def test_a_verdict_needs_two_seeds_and_five_pairs(seeds, domains, judged):
    found = estimate(np.arange(10.0, 10 + seeds * domains).reshape(seeds, domains))
    assert (found.half is not None) == judged
    assert found.range == (10.0, 9.0 + seeds * domains)
    assert found.pairs == seeds * domains


def test_a_single_number_needs_three_seeds():
    assert [estimate_over_seeds(values).half is None for values in ([1.0], [1.0, 2.0], [1.0, 2.0, 4.0])] == [
        *(True, True, False)
    ]


def test_domains_that_vary_by_chance_alone_add_nothing():
    values = np.array([[1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]])  # the interaction explains more than the domains show
    assert estimate(values).half == pytest.approx(estimate_over_seeds(values.mean(1)).half)


def test_distinguishable_when_the_interval_leaves_out_zero():
    assert estimate([[5.0, 5.5, 6.0, 5.2], [5.1, 5.4, 6.1, 5.2]]).verdict == 1
    assert estimate([[5.0, -5.5, 6.0, -5.2], [5.1, -5.4, 6.1, -5.2]]).verdict == 0
    assert estimate([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]).verdict == 0
    assert estimate([[5.0, 5.5, 6.0, 5.2]]).verdict is None  # one seed


def test_a_wide_interval_leaves_a_difference_undecided():
    values = np.array([[1.0, -1.0, 0.5], [0.9, -1.1, 0.4]])
    told = [Difference(estimate(times * values)) for times in (1, 10)]
    assert [(found.tied, found.verdict) for found in told] == [(True, 0), (False, 0)]


@pytest.mark.parametrize("factor", [2, 8])
def test_more_seeds_and_domains_are_predicted_to_narrow_it(factor):
    table = simulated(4, 6, 1, 1, 1, 1, np.random.default_rng(6))[0]
    now = predict_half(table, 4, 6)
    assert now == pytest.approx(estimate(table).half, rel=0.05)
    assert predict_half(table, 4 * factor, 6 * factor) < now / factor**0.5 * 1.1
    alone = predict_half(table[:1], 2, 6)  # one seed does not tell how others vary
    assert 0 < alone < 10


@pytest.mark.parametrize("values", [[1.0, 2.0], [], [[]], [[float("nan")]]])
def test_bad_tables_are_refused(values):
    with pytest.raises(GottaError, match="expected finite numbers"):
        estimate(values)


COMPONENTS = [(1, 1, 1), (1, 0, 1), (1, 1, 0.01), (0.3, 1, 1), (0, 1, 1), (0, 0, 1), (1, 3, 1), (3, 1, 1)]


def rates(seeds, domains, components, count):
    rng = np.random.default_rng(seeds * 100 + domains)
    return [coverage(simulated(seeds, domains, *sizes, count, rng)) for sizes in components]


@pytest.mark.parametrize(("seeds", "domains"), [(2, 5), (3, 15), (3, 5)])
def test_intervals_cover_at_their_rate(seeds, domains):
    """Whatever part of the variance is of seeds and of domains. 500 tables have a standard error of one percent."""
    found = rates(seeds, domains, COMPONENTS[:4], 500)
    assert min(found) > 0.92
    assert max(found) < 0.998


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "domains"), [(3, 15), (5, 15), (3, 5), (10, 15)])
def test_intervals_cover_at_their_rate_closely(seeds, domains):
    """Never less than 95 %, and at most a few percent more."""
    found = rates(seeds, domains, COMPONENTS, 2000)  # a standard error of 0.5 %
    assert min(found) > 0.95 - 3.5 * 0.0049
    assert max(found) < 0.995
    assert np.mean(found) == pytest.approx(0.965, abs=0.015)


def test_intervals_over_seeds_cover_on_fixed_domains():
    rng = np.random.default_rng(2)
    tables = simulated(3, 15, 1, 0, 1, 1000, rng).mean(2)  # domains differ much, and are the same in every table
    found = [estimate_over_seeds(means) for means in tables]
    assert np.mean([abs(one.mean) <= one.half for one in found]) == pytest.approx(0.95, abs=0.021)


def test_pairs_pooled_as_if_they_were_independent_would_promise_too_much():
    """Why seeds and domains are not simply counted as so many pairs."""
    tables = simulated(3, 5, 1, 1, 1, 500, np.random.default_rng(5))
    halves = [student.ppf(0.975, table.size - 1) * table.std(ddof=1) / table.size**0.5 for table in tables]
    assert np.mean([abs(table.mean()) <= half for table, half in zip(tables, halves, strict=True)]) < 0.85


def test_the_percentile_bootstrap_covers_too_seldom_with_three_seeds():
    """Why no table uses it."""
    tables = simulated(3, 15, 1, 1, 1, 150, np.random.default_rng(3))
    covered = [
        low <= 0 <= high for low, high in (bootstrap(table, draws=200, seed=i) for i, table in enumerate(tables))
    ]
    assert np.mean(covered) < 0.88


def test_the_bootstrap_is_deterministic_and_near_with_many_seeds():
    table = simulated(40, 40, 1, 1, 1, 1, np.random.default_rng(4))[0]
    assert bootstrap(table, seed=1) == bootstrap(table, seed=1)
    assert bootstrap(table, seed=1) != bootstrap(table, seed=2)
    low, high = bootstrap(table)
    assert high - low == pytest.approx(2 * estimate(table).half, rel=0.2)


def test_seeds_and_domains_by_hand():
    """Means of the seeds 1, 3, 6.5 with variance 7.75; of the domains 1, 6 with 12.5; what is left has 13 / 2."""
    t_of_2, t_of_1 = 4.302653, 12.706205
    half = estimate([[0.0, 2.0], [1.0, 5.0], [2.0, 11.0]]).half
    assert half == pytest.approx((t_of_2**2 * 7.75 / 3 + t_of_1**2 * (12.5 / 2 - 6.5 / 6)) ** 0.5, rel=1e-5)
