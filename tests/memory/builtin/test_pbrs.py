import numpy as np

from gotta.memory import Memory


def test_pbrs_prefers_rare_classes() -> None:
    memory = Memory("pbrs", 4, 3)
    memory.observe(np.arange(50), label=[0] * 50)
    memory.observe(np.arange(2), label=[1, 2])
    assert memory.batch().label.tolist() == [0, 0, 1, 2]


def test_a_class_that_fills_the_memory_takes_fewer_and_fewer() -> None:
    """Sample n enters with probability 1 / n, which for 300 samples adds up to six."""
    memory = Memory("pbrs", 1, 1)
    memory.observe(np.arange(300), label=[0] * 300)
    assert 2 <= memory.stats["stored"] <= 15
