import numpy as np

from gotta.data.corruptions import EXTRA, STANDARD
from gotta.data.corruptions.draws import Draws


def draws(count=2, name="test", severity=1, seed=0):
    return Draws(seed, name, severity, np.arange(count))


def test_every_name_severity_and_index_has_its_own_numbers():
    first = {
        tuple(Draws(0, name, severity, np.array([index])).words(4)[0])
        for name in STANDARD + EXTRA
        for severity in (1, 5)
        for index in (0, 1, 2**40)
    }
    assert len(first) == 19 * 2 * 3


def test_calls_draw_from_separate_parts_of_a_stream():
    one = draws()
    assert not np.array_equal(one.uniform(8), one.uniform(8))
    assert set(np.unique(one.below(6, 4000))) == set(range(6))
    assert abs(one.normal(5000).std() - 1) < 0.05
