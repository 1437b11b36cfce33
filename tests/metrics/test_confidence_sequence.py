"""The interval holds at all times together, also where the mean drifts, and it is not idle."""

import numpy as np
import pytest

from gotta.metrics.confidence_sequence import bound_mean


def run(expected, seed, zeros):
    """Values in {-1, 0, 1} with these means; whether a look at any of many moments finds the mean outside."""
    rng = np.random.default_rng(seed)
    drawn = rng.random(len(expected))
    up = (1 - zeros + expected) / 2
    values = np.where(drawn < up, 1.0, np.where(drawn < 1 - zeros, -1.0, 0.0))
    sums = np.cumsum(values)
    guess = np.concatenate([[0.0], sums[:-1] / np.arange(1, len(values))])
    spread = np.cumsum((values - guess) ** 2)
    truth = np.cumsum(expected) / np.arange(1, len(values) + 1)
    for place in np.unique(np.geomspace(1, len(values), 40).astype(int)) - 1:
        low, high = bound_mean(place + 1, sums[place], spread[place])
        if not low <= truth[place] <= high:
            return True
    return False


@pytest.mark.parametrize("zeros", [0.0, 0.8])
@pytest.mark.parametrize("drift", [False, True])
def test_it_misses_at_most_as_often_as_promised_however_often_one_looks(zeros, drift):
    """Whoever stops at the first miss is as often wrong as this counts."""
    mean = np.where(np.arange(2000) < 700, -0.1, 0.15) if drift else np.full(2000, 0.1)
    missed = sum(run(mean, seed, zeros) for seed in range(200))
    assert missed <= 16  # of 200, where 10 are allowed and 16 happen with probability 0.02 at the limit


def test_a_fixed_interval_would_not_hold():
    """The simulation can fail: an ordinary interval, looked at again and again, misses far more often."""
    missed = 0
    for seed in range(100):
        values = np.random.default_rng(seed).choice([-1.0, 1.0], 2000)
        means = np.cumsum(values) / np.arange(1, 2001)
        missed += bool((np.abs(means[9:]) > 1.96 / np.sqrt(np.arange(10, 2001))).any())
    assert missed > 20


def test_it_finds_a_gain_in_time_and_narrows():
    low, high = bound_mean(1000, 100.0, 190.0)  # one in five differs, three quarters of them for the better
    assert 0 < low < 0.1 < high < 0.2
    widths = [np.subtract(*bound_mean(n, 0.0, 0.2 * n)[::-1]) for n in (100, 1000, 10_000, 100_000)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.02


def test_without_values_nothing_is_known():
    assert bound_mean(0, 0.0, 0.0) == (-1.0, 1.0)
    assert bound_mean(1, 1.0, 1.0) == (-1.0, 1.0)
