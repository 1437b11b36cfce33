import numpy as np
import pytest

from gotta.memory import Table
from gotta.memory.rules import neighbours


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
