import numpy as np
import pytest

from gotta.data.corruptions import spatter


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_distance_is_the_shortest_way_in_moves(rng):
    edges = rng.random((2, 18, 23)) < 0.01
    edges[0] = False
    ours = spatter._distance_to(edges)
    assert (ours[0] == 20).all()
    y, x = np.indices(edges.shape[1:])
    best = np.full(edges.shape[1:], 20.0)
    for i, j in np.argwhere(edges[1]):
        near, far = np.sort([np.abs(y - i), np.abs(x - j)], axis=0)
        knights = np.where(
            far >= 2 * near, (far - 2 * near) + 2.1969 * near, 2.1969 * (far - near) + 1.4 * (2 * near - far)
        )
        best = np.minimum(best, knights)
    np.testing.assert_allclose(ours[1], best, atol=1e-4)


def test_edges_surround_a_square():
    grey = np.zeros((1, 20, 20), np.uint8)
    grey[0, 6:14, 6:14] = 200
    edges = spatter._edges(grey)[0]
    assert edges.any()
    assert not edges[8:12, 8:12].any()
    assert not edges[:4].any()
    assert edges[8:12].sum(1).tolist() == [2] * 4
