"""Differences in words: size, sign, and on which side of the other."""

import pytest

from gotta.report.statistics import Estimate
from gotta.report.words import points, show_signed, side


@pytest.mark.parametrize(
    ("mean", "half", "expected"),
    [(1.24, 0.5, ("1.2 ± 0.5", "+1.2 ± 0.5", "above")), (-3.06, None, ("3.1", "-3.1", "below"))],
)
def test_a_difference_has_its_size_its_sign_and_its_side(mean, half, expected):
    found = Estimate(mean, half, level=0.95, seeds=3, domains=4, over="seeds and domains")
    assert (points(found), show_signed(found), side(found)) == expected
