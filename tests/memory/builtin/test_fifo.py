import numpy as np
from memory.offers import ids

from gotta.memory import Memory


def test_fifo_keeps_the_latest() -> None:
    memory = Memory("fifo", 3, 1)
    assert memory.observe(np.arange(5)).tolist() == [0, 1, 2, 0, 1]
    assert ids(memory) == [2, 3, 4]
