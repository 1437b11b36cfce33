"""FPS, CDS and CSTU decide like slow versions written from the paper's text."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from memory.streams import predictions
from reference.slow_memory import Slow

from gotta.memory import Memory

SETTINGS = [(2, 32), (10, 8), (10, 32), (10, 64), (100, 64), (1000, 64)]


FPS = product(["all", "remaining"], ["check_first", "evict_first"])
CDS = product(["score", "earlier", "later"], ["cstu", "compare"])
READINGS = [
    *(("fps", {"against": against, "order": order}) for against, order in FPS),
    *(("cds", {"ties": ties, "one_row": one_row}) for ties, one_row in CDS),
]


def compare(policy: str, num_classes: int, capacity: int, bursty: bool, size: int, **reading: Any) -> Memory:
    stream = predictions(np.random.default_rng([num_classes, capacity, bursty]), size, num_classes, bursty)
    memory = Memory(policy, capacity, num_classes, journal=True, **reading)
    for start in range(0, size, 50):
        memory.observe(
            np.arange(start, start + 50), **{name: value[start : start + 50] for name, value in stream.items()}
        )
    assert memory.journal is not None
    stored, evicted = memory.journal.column("slot") >= 0, memory.journal.column("evicted")

    slow = Slow(policy, capacity, num_classes, **reading)
    embedding = stream["embedding"].astype(np.float64)
    for i in range(size):
        label, u = int(stream["label"][i]), float(stream["uncertainty"][i])
        kept, left = slow.offer(i, label, u, embedding[i].tolist())
        assert (kept, -1 if left is None else left) == (stored[i], evicted[i]), f"decision {i}"
    ids = [row["id"] for row in sorted(slow.rows, key=lambda row: (row["label"], row["id"]))]
    assert memory.batch().x.tolist() == ids
    assert 0 < stored.sum() < size
    return memory


@pytest.mark.parametrize("bursty", [False, True], ids=["iid", "bursty"])
@pytest.mark.parametrize(("num_classes", "capacity"), SETTINGS)
@pytest.mark.parametrize("policy", ["fps", "cds", "cstu"])
def test_equals_slow(policy: str, num_classes: int, capacity: int, bursty: bool) -> None:
    compare(policy, num_classes, capacity, bursty, 1000)


@pytest.mark.parametrize(("num_classes", "capacity"), [(10, 8), (10, 32), (100, 64)])
@pytest.mark.parametrize(("policy", "reading"), READINGS)
def test_every_reading_equals_slow(policy: str, reading: dict[str, Any], num_classes: int, capacity: int) -> None:
    """With an epsilon at which the readings part."""
    compare(policy, num_classes, capacity, True, 800, epsilon=0.05, **reading)


def test_the_readings_are_different_memories() -> None:
    kept = set()
    for policy, reading in READINGS:  # with at most one row per class, and with several
        memories = [compare(policy, 10, capacity, True, 600, epsilon=0.2, **reading) for capacity in (8, 32)]
        kept.add(tuple(tuple(memory.batch().x.tolist()) for memory in memories))
    assert len(kept) == len(READINGS)


@pytest.mark.parametrize(("num_classes", "capacity"), [(10, 8), (10, 10), (100, 64), (1000, 64)])
def test_fps_is_not_cstu_where_no_class_has_two_rows_and_cds_is(num_classes: int, capacity: int) -> None:
    stream = predictions(np.random.default_rng(5), 2000, num_classes, True)
    slots = {}
    for policy, arguments in (("cstu", {}), ("cds", {}), ("fps", {}), ("fps", {"against": "remaining"})):
        memory = Memory(policy, capacity, num_classes, **arguments)
        slots[policy, *arguments.values()] = memory.observe(np.arange(2000), **stream).tolist()
    assert slots["fps",] != slots["cstu",]
    assert slots["cds",] == slots["cstu",]
    assert slots["fps", "remaining"] == slots["cstu",], "epsilon is asked of nobody"


@pytest.mark.slow
@pytest.mark.parametrize("bursty", [False, True], ids=["iid", "bursty"])
@pytest.mark.parametrize(("num_classes", "capacity"), SETTINGS)
@pytest.mark.parametrize("policy", ["fps", "cds"])
def test_equals_slow_for_long(policy: str, num_classes: int, capacity: int, bursty: bool) -> None:
    compare(policy, num_classes, capacity, bursty, 4000)


@pytest.mark.parametrize("policy", ["fps", "cds", "cstu"])
def test_equals_slow_with_large_partitions(policy: str) -> None:
    """More rows per class than are scanned one by one, so the incremental structures decide."""
    compare(policy, 2, 200, False, 1000)


@pytest.mark.parametrize("policy", ["fps", "cstu"])
def test_equals_slow_with_hundreds_of_rows_per_class(policy: str) -> None:
    compare(policy, 2, 600, True, 1500)
