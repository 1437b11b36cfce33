import numpy as np

from gotta.memory import Memory


def test_pbrs_prefers_rare_classes() -> None:
    memory = Memory("pbrs", 4, 3)
    memory.observe(np.arange(50), label=[0] * 50)
    memory.observe(np.arange(2), label=[1, 2])
    assert memory.batch().label.tolist() == [0, 0, 1, 2]
