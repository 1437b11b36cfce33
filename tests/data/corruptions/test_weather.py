import numpy as np

from gotta.data.corruptions import weather
from gotta.data.corruptions.draws import Draws


def draws(count=2, name="test", severity=1, seed=0):
    return Draws(seed, name, severity, np.arange(count))


def naive_plasma(side, decay, waiting):
    heights, step, range_ = np.zeros((side, side)), side, 1.0
    while step >= 2:
        half = step // 2
        for y in range(0, side, step):
            for x in range(0, side, step):
                corners = sum(heights[(y + i) % side, (x + j) % side] for i in (0, step) for j in (0, step))
                heights[y + half, x + half] = corners / 4 + range_ * waiting[y + half, x + half]
        for y in range(0, side, half):
            for x in range(half if y % step == 0 else 0, side, step):
                around = [(y - half, x), (y + half, x), (y, x - half), (y, x + half)]
                heights[y, x] = sum(heights[i % side, j % side] for i, j in around) / 4 + range_ * waiting[y, x]
        step, range_ = half, range_ / decay**2
    heights -= heights.min()
    return heights / heights.max()


def test_plasma_is_smoother_with_more_decay():
    rough, smooth = (weather.plasma(32, decay, draws(20)) for decay in (1.2, 3.0))
    assert (rough.min((1, 2)) == 0).all()
    assert (rough.max((1, 2)) == 1).all()
    assert np.abs(np.diff(rough, axis=1)).mean() > 2 * np.abs(np.diff(smooth, axis=1)).mean()


def test_plasma_is_diamond_square():
    waiting = draws(1).uniform(16, 16)[0] * 2.0 - 1
    np.testing.assert_allclose(weather.plasma(16, 1.5, draws(1))[0], naive_plasma(16, 1.5, waiting), atol=1e-5)
