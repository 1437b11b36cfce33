from typing import Any

import numpy as np
import pytest
from memory.streams import predictions

from gotta.errors import GottaError
from gotta.memory import Memory

SPELLINGS = {
    "fifo": ("all", "oldest", "always"),
    "reservoir": ("all", "random", "coin"),
    "pbrs": ("largest", "random", "coin"),
    "cstu": ("quota", "worst", "better"),
    "fps": ("quota", "nearest", "diverse"),
}


@pytest.mark.parametrize("bursty", [False, True])
@pytest.mark.parametrize(("num_classes", "capacity"), [(2, 32), (10, 8), (10, 64), (100, 64)])
@pytest.mark.parametrize("name", SPELLINGS)
def test_composed_spells_the_named_ones(name: str, num_classes: int, capacity: int, bursty: bool) -> None:
    stream = predictions(np.random.default_rng(num_classes), 600, num_classes, bursty)
    allocate, evict, admit = SPELLINGS[name]
    rules: dict[str, Any] = {"allocate": allocate, "evict": evict, "admit": admit}
    named = Memory(name, capacity, num_classes, seed=4, journal=True)
    composed = Memory("composed", capacity, num_classes, seed=4, journal=True, **rules)
    for memory in (named, composed):
        memory.observe(np.arange(600), **stream)
    assert named.journal is not None
    assert composed.journal is not None
    for column in ("slot", "evicted", "reason"):
        assert named.journal.column(column).tolist() == composed.journal.column(column).tolist()


def test_composed_refuses_unknown_rules() -> None:
    with pytest.raises(GottaError, match="evict 'best' is unknown"):
        Memory("composed", 4, 2, evict="best")
