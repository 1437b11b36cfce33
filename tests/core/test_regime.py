import pytest
from tiny import seeded_net

import gotta
from gotta import GottaError
from gotta.core.regime import fixed, steps_of_m


def test_the_papers_steps_are_as_long_as_the_memory():
    assert steps_of_m(32) == (32, 32)
    assert steps_of_m(None) == (64, None)


def test_fixed_steps_do_not_depend_on_the_memory():
    assert fixed(8) == fixed(1000) == (64, 64)
    assert fixed(None) == (64, None)


@pytest.mark.parametrize("wrong", [{"adapt_every": 0}, {"adapt_every": 1.5}, {"score": "x"}])
def test_wrong_settings(wrong):
    with pytest.raises(GottaError, match=next(iter(wrong))):
        gotta.adapt(seeded_net(), "tent", **wrong)
