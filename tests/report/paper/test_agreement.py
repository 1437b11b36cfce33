"""Kendall's tau-b, against SciPy."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from gotta.report.paper.side_by_side import agreement, rank_in, tau_b


@pytest.mark.parametrize("seed", range(5))
def test_as_scipy_with_and_without_ties(seed):
    rng = np.random.default_rng(seed)
    for first, second in (rng.normal(size=(2, 9)), rng.integers(0, 4, (2, 9))):
        assert tau_b(first.tolist(), second.tolist()) == pytest.approx(kendalltau(first, second).statistic)


def test_nothing_to_order():
    assert tau_b([1.0], [2.0]) is None
    assert tau_b([1.0, 1.0], [2.0, 3.0]) is None


def test_only_what_both_rank():
    found = agreement({"fps": 3.0, "cds": 2.0, "mine": 9.0}, {"cds": 20.0, "fps": 10.0})
    assert found.names == ("fps", "cds")
    assert str(found) == "-1.00 (n=2)"


def test_equal_values_share_the_better_rank():
    assert [rank_in(value, [50.0, 60.0, 60.0, 40.0]) for value in (60.0, 50.0, 40.0)] == [1, 3, 4]
