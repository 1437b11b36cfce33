import numpy as np
import pytest
from memory.offers import table_of

from gotta.memory import Table
from gotta.memory.table import Order


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
