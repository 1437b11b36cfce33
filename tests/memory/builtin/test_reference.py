"""FPS, CDS and CSTU decide like slow versions written from the paper's text."""

import numpy as np
import pytest
from memory.streams import predictions
from reference.slow_memory import Slow

from gotta.memory import Memory

SETTINGS = [(2, 32), (10, 8), (10, 32), (10, 64), (100, 64), (1000, 64)]


def compare(policy: str, num_classes: int, capacity: int, bursty: bool, size: int) -> None:
    stream = predictions(np.random.default_rng([num_classes, capacity, bursty]), size, num_classes, bursty)
    memory = Memory(policy, capacity, num_classes, journal=True)
    for start in range(0, size, 50):
        memory.observe(
            np.arange(start, start + 50), **{name: value[start : start + 50] for name, value in stream.items()}
        )
    assert memory.journal is not None
    stored, evicted = memory.journal.column("slot") >= 0, memory.journal.column("evicted")

    slow = Slow(policy, capacity, num_classes)
    embedding = stream["embedding"].astype(np.float64)
    for i in range(size):
        label, u = int(stream["label"][i]), float(stream["uncertainty"][i])
        kept, left = slow.offer(i, label, u, embedding[i].tolist())
        assert (kept, -1 if left is None else left) == (stored[i], evicted[i]), f"decision {i}"
    ids = [row["id"] for row in sorted(slow.rows, key=lambda row: (row["label"], row["id"]))]
    assert memory.batch().x.tolist() == ids
    assert 0 < stored.sum() < size


@pytest.mark.parametrize("bursty", [False, True], ids=["iid", "bursty"])
@pytest.mark.parametrize(("num_classes", "capacity"), SETTINGS)
@pytest.mark.parametrize("policy", ["fps", "cds", "cstu"])
def test_equals_slow(policy: str, num_classes: int, capacity: int, bursty: bool) -> None:
    compare(policy, num_classes, capacity, bursty, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("bursty", [False, True], ids=["iid", "bursty"])
@pytest.mark.parametrize(("num_classes", "capacity"), SETTINGS)
@pytest.mark.parametrize("policy", ["fps", "cds"])
def test_equals_slow_for_long(policy: str, num_classes: int, capacity: int, bursty: bool) -> None:
    compare(policy, num_classes, capacity, bursty, 10_000)


@pytest.mark.parametrize("policy", ["fps", "cds", "cstu"])
def test_equals_slow_with_large_partitions(policy: str) -> None:
    """More rows per class than are scanned one by one, so the incremental structures decide."""
    compare(policy, 2, 200, False, 1000)


@pytest.mark.parametrize("policy", ["fps", "cstu"])
def test_equals_slow_with_hundreds_of_rows_per_class(policy: str) -> None:
    compare(policy, 2, 600, True, 1500)
