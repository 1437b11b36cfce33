from math import inf

import numpy as np
import pytest
from memory.offers import table_of

from gotta.memory import Table
from gotta.memory.rules import geometry


def test_two_nearest() -> None:
    table = table_of([0, 0, 0])
    rows = table.members(0)
    assert geometry.two_nearest(table, rows, np.array([0.9, 0.0])) == pytest.approx((1, 0.1, 0.9))
    assert geometry.two_nearest(table, rows, np.array([0.5, 0.0]))[0] == 0, "of equally near ones the first"
    assert geometry.two_nearest(table, rows[:1], np.array([3.0, 4.0])) == (0, 5.0, inf)
    assert geometry.two_nearest(table, rows[:0], np.array([3.0, 4.0])) == (-1, inf, inf)


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e4])
def test_two_nearest_of_many_rows_is_exact(scale: float) -> None:
    rng = np.random.default_rng(4)
    table = Table(600, 1, dimensions=10)
    for i in range(600):
        table.put(i, 0, 0.0, scale * rng.dirichlet(np.ones(10)))
        table.tick()
    for i in range(200):
        near = table.embedding[rng.integers(600)] + scale * 10.0 ** -rng.integers(1, 12) * rng.normal(size=10)
        point = near if i % 4 else table.embedding[i]
        distance = np.linalg.norm(table.embedding - point, axis=1)
        order = np.argsort(distance, kind="stable")
        found, first, second = geometry.two_nearest(table, table.members(0), point)
        assert table.members(0)[found] == order[0]
        assert (first, second) == pytest.approx((distance[order[0]], distance[order[1]]), rel=1e-12)
        table.put(int(rng.integers(600)), 0, 0.0, scale * rng.dirichlet(np.ones(10)))
        table.tick()


def test_farthest_first() -> None:
    points = np.array([[0.0], [1.0], [0.4], [0.9]])
    assert geometry.farthest_first(points, start=0) == [0, 1, 2, 3]
    assert geometry.farthest_first(points, start=3) == [3, 0, 2, 1]
    equally_far = np.array([[0.0], [1.0], [-1.0], [0.0]])
    assert geometry.farthest_first(equally_far, start=0) == [0, 1, 2, 3]


def test_unit_keeps_zero() -> None:
    assert geometry.unit(np.array([3.0, 4.0])) == pytest.approx([0.6, 0.8])
    assert geometry.unit(np.array([[0.0, 0.0], [0.0, 2.0]])) == pytest.approx(np.array([[0.0, 0.0], [0.0, 1.0]]))
