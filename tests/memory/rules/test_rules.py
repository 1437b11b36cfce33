"""The pure functions that policies share, on arrays small enough to check by eye."""

from math import exp, inf, log

import numpy as np
import pytest

from gotta.memory import Table
from gotta.memory.rules import balance, geometry, neighbours, score
from gotta.memory.table import Order


def table_of(labels: list[int], uncertainty: list[float] | None = None, capacity: int = 6, classes: int = 3) -> Table:
    table = Table(capacity, classes, dimensions=2)
    for i, label in enumerate(labels):
        table.offer(label)
        table.put(i, label, uncertainty[i] if uncertainty else 0.0, np.array([float(i), 0.0]))
        table.tick()
    return table


def test_table_counts_and_orders() -> None:
    table = table_of([2, 0, 2, 1])
    assert table.count.tolist() == table.seen.tolist() == [1, 1, 2]
    assert table.members(2).tolist() == [0, 2]
    assert table.order.tolist() == [0, 1, 2, 3]
    assert table.rows().tolist() == [1, 3, 0, 2]
    assert (table.largest(), table.most) == ([2], 2)
    assert (len(table), table.full, table.free()) == (4, False, 4)
    assert table.put(0, 1, 0.0, np.zeros(2)) == 0, "the birth of the row that left"
    assert table.order.tolist() == [1, 2, 3, 0]
    assert table.largest() == [1]
    assert table.age(np.array([0, 1])).tolist() == [0, 3]


def test_table_stays_consistent_at_random() -> None:
    rng = np.random.default_rng(0)
    table = Table(20, 5)
    for _ in range(500):
        slot = table.free() if not table.full and rng.random() < 0.5 else int(rng.integers(20))
        table.put(slot, int(rng.integers(5)), 0.0, np.zeros(0))
        table.tick()
        filled = np.flatnonzero(table.filled)
        assert table.count.tolist() == np.bincount(table.label[filled], minlength=5).tolist()
        assert table.most == table.count.max()
        assert sorted(table.order.tolist()) == filled.tolist()
        assert (np.diff(table.born[table.order]) > 0).all()
        for label in range(5):
            expected = [slot for slot in table.order.tolist() if table.label[slot] == label]
            assert table.members(label).tolist() == expected
        assert sorted(table.rows_of([1, 3])) == [s for s in filled.tolist() if table.label[s] in (1, 3)]


@pytest.mark.parametrize("size", [5, 200])
def test_order_drops_anywhere(size: int) -> None:
    rng = np.random.default_rng(1)
    order, plain = Order(), list(range(size))
    born = np.arange(10 * size)
    for slot in plain:
        order.append(slot)
    for new in range(size, 6 * size):
        gone = plain.pop(int(rng.integers(size)))
        order.drop(order.position(gone, born))
        order.append(new)
        plain.append(new)
        assert order.view().tolist() == plain


def test_limit() -> None:
    assert [balance.limit(10, 3, quota) for quota in balance.QUOTAS] == [10 / 3, 3, 4, inf]
    assert [balance.limit(8, 10, quota) for quota in balance.QUOTAS] == [0.8, 1, 1, inf]


def test_rivals() -> None:
    assert balance.rivals(table_of([0, 1]), 0) is None
    assert balance.rivals(table_of([0, 0]), 0) == [0], "a full class competes in itself although there is room"
    crowded = table_of([0, 0, 0, 1, 1, 1], capacity=6)
    assert balance.rivals(crowded, 2) == [0, 1]
    assert balance.rivals(crowded, 1, "none") == [1]
    assert balance.rivals(table_of([0, 0, 0]), 0, "none") is None


def test_heuristic() -> None:
    table = table_of([0, 1], [0.5, 0.25])
    expected = 2.0 / (1 + exp(-2 / 6)) + 3.0 * 0.5 / log(3)
    assert score.of_row(table, 0, 2.0, 3.0) == pytest.approx(expected, abs=1e-15)
    rows = np.array([0, 1])
    assert score.of_rows(table, rows, 2.0, 3.0) == pytest.approx([score.of_row(table, i, 2.0, 3.0) for i in rows])
    assert score.of_new(table, 0.3, 1.0, 1.0) == 0.5 + 0.3 / log(3)


@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (-1.0, 0.5), (2.0, 0.1)])
@pytest.mark.parametrize("capacity", [12, 300])
def test_worst_looks_at_few_and_finds_the_same(weights: tuple[float, float], capacity: int) -> None:
    rng = np.random.default_rng(3)
    table = Table(capacity, 2, dimensions=0)
    for step in range(4 * capacity):
        slot = table.free() if not table.full else int(rng.integers(capacity))
        table.put(slot, int(rng.integers(2)), float(rng.choice([0.0, 0.2, rng.random()])), np.zeros(0))
        table.tick()
        classes = [[0], [1], [0, 1]][step % 3]
        if all(table.holds(label) for label in classes):
            expected = score.worst_of_rows(table, table.rows_of(classes), *weights)
            slot, h = score.worst(table, classes, *weights)
            assert (slot, h) == (expected[0], pytest.approx(expected[1], abs=1e-14))


def test_worst_of_equal_rows_is_the_last() -> None:
    table = table_of([1, 0, 1, 0], [0.5, 0.5, 0.5, 0.5])
    table.clock = 10**6
    assert score.worst(table, [0, 1], 1.0, 1.0)[0] == 2
    assert score.worst_of_rows(table, np.array([2, 0, 3, 1]), 1.0, 1.0)[0] == 2


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


def test_unit_keeps_zero() -> None:
    assert geometry.unit(np.array([3.0, 4.0])) == pytest.approx([0.6, 0.8])
    assert geometry.unit(np.array([[0.0, 0.0], [0.0, 2.0]])) == pytest.approx(np.array([[0.0, 0.0], [0.0, 1.0]]))


@pytest.mark.parametrize("capacity", [20, 150])
def test_neighbours_equal_the_whole_matrix(capacity: int) -> None:
    rng = np.random.default_rng(5)
    table = Table(capacity, 2, dimensions=4)
    for step in range(5 * capacity):
        slot = table.free() if not table.full else int(rng.integers(capacity))
        table.put(slot, int(rng.random() < 0.1), 0.0, rng.normal(size=4))
        table.tick()
        rows = table.members(0)
        if len(rows) < 2 or step % 3:
            continue
        point = rng.normal(size=4)
        index = table.index(neighbours.Neighbours)
        similarity = index.similarity(0, point)
        everyone = np.vstack([table.embedding[rows], point])
        everyone /= np.linalg.norm(everyone, axis=1, keepdims=True)
        matrix = everyone @ everyone.T - 9 * np.eye(len(everyone))
        assert similarity == pytest.approx(matrix[-1, :-1])
        redundancy = matrix.max(1)
        expected = np.flatnonzero(redundancy > redundancy.max() - 1e-9).tolist()
        tied, newcomer = index.most_redundant(0, similarity)
        assert newcomer == (len(rows) in expected)
        assert tied == [int(rows[i]) for i in expected if i < len(rows)]
