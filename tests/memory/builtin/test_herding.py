"""Herding keeps rows whose mean is that of what was offered."""

import numpy as np
import pytest
from memory.offers import ids, point
from memory.streams import predictions
from reference.slow_policies import SlowHerding

from gotta.memory import Memory


@pytest.mark.parametrize("bursty", [False, True], ids=["iid", "bursty"])
@pytest.mark.parametrize(("capacity", "classes"), [(8, 10), (24, 3), (32, 10)])
def test_it_decides_like_a_slow_version(capacity: int, classes: int, bursty: bool) -> None:
    stream = predictions(np.random.default_rng([capacity, classes]), 300, classes, bursty)
    memory, slow = Memory("herding", capacity, classes), SlowHerding(capacity, classes)
    for start in range(0, 300, 30):
        part = {name: value[start : start + 30] for name, value in stream.items()}
        memory.observe(np.arange(start, start + 30), **part)
        for i in range(start, start + 30):
            slow.offer(i, int(stream["label"][i]), stream["embedding"][i].astype(float).tolist())
        assert ids(memory) == sorted(row["id"] for row in slow.rows)
    assert memory.stats["redundant"] > 0


def test_the_rows_average_to_the_mean_of_the_stream_better_than_the_latest_ones() -> None:
    embedding = np.random.default_rng(0).normal(size=(500, 4))
    off = {}
    for policy in ("herding", "fifo"):
        memory = Memory(policy, 8, 1)
        memory.observe(np.arange(500), label=[0] * 500, embedding=embedding)
        off[policy] = np.linalg.norm(memory.batch().embedding.numpy().mean(0) - embedding.mean(0))
    assert off["herding"] < off["fifo"] / 5


def test_what_was_offered_is_part_of_the_state() -> None:
    memory, other = Memory("herding", 1, 1), Memory("herding", 1, 1)
    for value in (0.0, 1.0, 0.9):
        memory.observe([0], label=[0], embedding=point(value))
    other.load_state_dict(memory.state_dict())
    assert other._table.mean.tolist() == memory._table.mean.tolist() != [[0.0], [0.0]]
    memory.reset()
    assert memory._table.mean.tolist() == [[0.0], [0.0]] or memory._table.mean.shape == (2, 0)
