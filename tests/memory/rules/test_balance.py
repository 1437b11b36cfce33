from math import inf
from typing import get_args

import numpy as np
import pytest
from memory.offers import last_reason, offer, point, table_of

from gotta.memory import Memory
from gotta.memory.rules import balance


@pytest.mark.parametrize(("quota", "expected"), [("real", 4), ("ceil", 4), ("floor", 3), ("none", 10)])
def test_quota(quota: str, expected: int) -> None:
    memory = Memory("cstu", 10, 3, quota=quota)
    memory.observe(np.arange(30), label=[1] * 30, uncertainty=np.linspace(1, 0, 30))
    assert len(memory) == expected


def test_a_class_with_room_in_a_full_memory_must_beat_the_worst_of_the_largest() -> None:
    for name in ("cstu", "fps", "cds", "kcenter"):
        memory = Memory(name, 2, 3, journal=True)
        offer(memory, 0, 0.5, point(1.0, 0.0))
        offer(memory, 1, 0.3, point(0.0, 1.0))
        assert offer(memory, 2, 1.0, point(1.0, 1.0)) == -1
        assert last_reason(memory) == "memory full"
        assert offer(memory, 2, 0.3, point(1.0, 1.0)) == 0
        assert last_reason(memory) == "replaced worst"


def test_limit() -> None:
    assert [balance.limit(10, 3, quota) for quota in get_args(balance.Quota)] == [10 / 3, 3, 4, inf]
    assert [balance.limit(8, 10, quota) for quota in get_args(balance.Quota)] == [0.8, 1, 1, inf]
    assert [balance.limit(32, 16, quota) for quota in get_args(balance.Quota)] == [2, 2, 2, inf]


def test_rivals() -> None:
    assert balance.rivals(table_of([0, 1]), 0) is None
    assert balance.rivals(table_of([0, 0]), 0) == [0], "a full class competes in itself although there is room"
    crowded = table_of([0, 0, 0, 1, 1, 1], capacity=6)
    assert balance.rivals(crowded, 2) == [0, 1]
    assert balance.rivals(crowded, 1, "none") == [1]
    assert balance.rivals(table_of([0, 0, 0]), 0, "none") is None
