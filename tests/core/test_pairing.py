import pytest

from gotta import GottaError
from gotta.core.pairing import PAIRINGS, choose_statistics
from gotta.methods import Statistics, methods


def test_the_papers_pairing_is_the_methods_own():
    norm = methods.get("norm")
    assert choose_statistics(norm, has_memory=False) == norm.native
    assert choose_statistics(norm, has_memory=True) == Statistics("running", "memory", 0.05)
    assert choose_statistics(methods.get("tent"), has_memory=True).source == "batch"


def test_pairing_memory_gives_running_statistics_to_all_that_have_a_memory():
    for name in methods.names():
        method = methods.get(name)
        assert choose_statistics(method, True, "memory").source == "running"
        assert choose_statistics(method, False, "memory") == method.native


def test_what_is_given_wins():
    chosen = choose_statistics(methods.get("tent"), True, statistics="running", fed_by="batch", rate=0.2)
    assert chosen == Statistics("running", "batch", 0.2)


def test_an_unknown_pairing():
    assert PAIRINGS == ("paper", "memory", "safe")
    with pytest.raises(GottaError, match="Did you mean 'paper'"):
        choose_statistics(methods.get("norm"), True, "papr")
