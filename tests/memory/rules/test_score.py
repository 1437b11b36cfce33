from math import exp, log

import numpy as np
import pytest
from memory.offers import table_of

from gotta.memory import Table
from gotta.memory.rules import score


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
