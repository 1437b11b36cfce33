import pytest
from memory.offers import last_reason, offer, point

from gotta.errors import GottaError
from gotta.memory import Memory


def test_kcenter_drops_the_one_that_comes_last() -> None:
    memory = Memory("kcenter", 6, 2, journal=True)
    for value in (0.0, 1.0, 0.5):
        offer(memory, 0, 0.1, point(value, 0.0))
    assert offer(memory, 0, 0.0, point(0.45, 0.0)) == 2
    assert offer(memory, 0, 0.6, point(0.4, 0.0)) == -1
    assert last_reason(memory) == "redundant"
    with pytest.raises(GottaError, match="pseudo"):
        Memory("kcenter", 6, 2, by="truth")
