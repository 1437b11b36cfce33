import numpy as np

from gotta.memory import Memory


def test_reservoir_inclusion_is_uniform() -> None:
    """Chi-square over 2000 memories of 4 of 12 samples; 31.3 is the 0.1 % point for 11 degrees of freedom."""
    counts = np.zeros(12)
    memory = Memory("reservoir", 4, 1, rng=np.random.default_rng(5))
    for _ in range(2000):
        memory._start()
        memory.observe(np.arange(12))
        counts[memory.ids] += 1
    expected = 2000 * 4 / 12
    # A memory holds exactly 4 of 12, which shrinks the variance of each count by 11 / 12 * (1 - 1/3) * 12 / 11.
    assert ((counts - expected) ** 2 / (expected * (1 - 1 / 3)) * 11 / 12).sum() < 31.3
