import pytest

from gotta import GottaError
from gotta.core.regime import REGIMES, Regime, fixed, steps_of_m


def test_the_papers_steps_are_as_long_as_the_memory():
    assert steps_of_m(32) == Regime(32, 32)
    assert steps_of_m(None) == Regime(64, None)


def test_fixed_steps_do_not_depend_on_the_memory():
    assert fixed(8) == fixed(1000) == Regime(64, 64)
    assert fixed(None) == Regime(64, None)


def test_every_regime_passes_reset_and_score_on():
    for make in REGIMES.values():
        assert make(8, "each_domain", "after").reset == "each_domain"
        assert make(8, "each_domain", "after").score == "after"


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"adapt_every": 0}, {"reset": "often"}, {"score": "x"}])
def test_wrong_settings(wrong):
    with pytest.raises(GottaError):
        Regime(**wrong)
