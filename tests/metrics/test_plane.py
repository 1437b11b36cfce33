"""Points on their plane."""

import numpy as np
import pytest

from gotta.metrics.measures import principal_plane


def test_the_plane_keeps_the_distances_of_points_that_lie_on_one():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(20, 2)) * (3.0, 1.0)
    turned = flat @ np.linalg.qr(rng.normal(size=(5, 5)))[0][:2] + 7.0
    places, shares = principal_plane(turned)
    expected = np.linalg.norm(flat[:, None] - flat[None], axis=-1)
    assert np.linalg.norm(places[:, None] - places[None], axis=-1) == pytest.approx(expected)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[0] > shares[1] > 0
    assert np.ptp(places[:, 0]) > np.ptp(places[:, 1])


def test_points_on_a_line_and_in_one_place_have_a_plane_too():
    places, shares = principal_plane(np.array([[1.0], [3.0]]))
    assert np.abs(places).tolist() == [[1.0, 0.0], [1.0, 0.0]]
    assert shares.tolist() == [1.0, 0.0]
    places, shares = principal_plane(np.full((3, 2), 4.0))
    assert (places.tolist(), shares.tolist()) == ([[0.0, 0.0]] * 3, [0.0, 0.0])
