import numpy as np
from memory.offers import last_reason

from gotta.memory import Memory


def test_cstu_replaces_the_worst() -> None:
    memory = Memory("cstu", 4, 2, journal=True)
    memory.observe(np.arange(2), label=[0, 0], uncertainty=[0.6, 0.1])
    assert memory.observe([2], label=[0], uncertainty=[0.3]).tolist() == [0]
    assert last_reason(memory) == "replaced worst"
    assert memory.observe([3], label=[0], uncertainty=[0.69]).tolist() == [-1]
    assert last_reason(memory) == "class full"


def test_an_equal_score_does_not_replace() -> None:
    memory = Memory("cstu", 2, 2, lambda_t=0.0)
    assert memory.observe(np.arange(3), label=[0, 0, 0], uncertainty=[0.2, 0.2, 0.1]).tolist() == [0, -1, 0]
