"""The spec: all mistakes at once."""

import dataclasses

import pytest

from gotta.errors import GottaError
from gotta.streams import ORDERS, StreamSpec, check


def test_the_default_and_every_schedule_pass():
    assert check(StreamSpec()) == []
    assert check(StreamSpec(schedule="recurring", repeats=3)) == []
    assert check(StreamSpec(schedule="one", domains="snow")) == []
    assert check(StreamSpec(schedule="mixed", order="iid", domain_order="rotta-3")) == []
    assert check(StreamSpec(schedule="gradual", domain_order="snow,fog", per_class=3)) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"order": "dirichelt"}, "order 'dirichelt' is unknown. Did you mean 'dirichlet'?"),
        ({"schedule": "continous"}, "Did you mean 'continual'?"),
        ({"domain_order": "rota"}, "domain order 'rota' is unknown. Did you mean 'rotta'?"),
        ({"underflow": "publish"}, "Did you mean 'published'?"),
        ({"choose": "frist"}, "Did you mean 'first'?"),
        ({"order": 3}, "order '3' is unknown"),
        ({"gamma": 0}, "gamma must be a number above 0 (got 0.0)"),
        ({"gamma": "0.1"}, "gamma must be a number above 0 (got '0.1')"),
        ({"beta": float("inf")}, "beta must be a number above 0 (got inf)"),
        ({"batch_size": 0}, r"batch_size must be a whole number of at least 1 (got 0)"),
        ({"batch_size": True}, "batch_size must be a whole number"),
        ({"slots": 0}, "slots must be"),
        ({"per_class": 2.5}, r"per_class must be a whole number of at least 1 (got 2.5)"),
        ({"duplicates": 0}, "duplicates must be"),
        ({"severity": 6}, "severity must be a whole number of at least 1 and at most 5 (got 6)"),
        ({"seed": -1}, r"seed must be a whole number of at least 0 (got -1)"),
        ({"drop_single": 1}, "drop_single must be true or false (got 1)"),
        ({"per_class": 2, "limit": 9}, "per_class and limit both choose images"),
        ({"schedule": "recurring"}, "repeats >= 2"),
        ({"repeats": 2}, "repeats=2 is for schedule 'recurring'"),
        ({"schedule": "mixed", "reset_at_domain": True}, "no domain borders"),
        ({"schedule": "one"}, "schedule 'one' needs a domain"),
        ({"drop_single": True, "batch_size": 1}, "drop_single leaves out"),
        ({"domains": ""}, "domains must be a comma list or a sequence of one or more names (got '')"),
        ({"domains": 5}, "domains must be"),
        ({"domains": ("snow", 3)}, "domains must be"),
        ({"domain_order": ()}, "domain_order must be a comma list"),
        ({"domain_order": None}, "domain_order must be a comma list"),
        ({"classes": ()}, "classes must be a list of one or more class numbers (got ())"),
        ({"classes": ("a",)}, "classes must be"),
        ({"classes": 3}, "classes must be"),
        ({"order": "markov", "class_stay": 0}, "class_stay must be a number above 0 and at most 1 (got 0.0)"),
        ({"order": "markov", "class_stay": "often"}, "class_stay must be a number above 0"),
        ({"order": "markov", "schedule": "mixed", "domain_stay": 1.5}, "domain_stay must be a number above 0"),
        ({"order": "iid", "class_imbalance": 0.1}, "class_imbalance must be a number of at least 1 (got 0.1)"),
        ({"class_imbalance": None}, "class_imbalance must be a number of at least 1 (got None)"),
        ({"order": "markov", "again": "yes"}, "again must be true or false (got 'yes')"),
        ({"class_stay": 0.95}, "class_stay=0.95 is for order 'markov', not 'dirichlet'"),
        ({"again": True}, "again=True is for order 'markov'"),
        ({"order": "markov", "domain_stay": 0.5}, "Use schedule 'mixed'"),
        ({"order": "markov", "domain_imbalance": 5, "schedule": "cdc"}, "schedule 'cdc' has them one by one"),
        ({"delta": 0.5}, "delta=0.5 is for schedule 'cdc', not 'continual'"),
        ({"domain_slots": 5}, "domain_slots=5 is for schedule 'cdc'"),
        ({"schedule": "cdc", "delta": 0}, "delta must be a number above 0 (got 0.0)"),
        ({"schedule": "cdc", "domain_slots": 0}, r"domain_slots must be a whole number of at least 1 (got 0)"),
        ({"head": "frist", "class_imbalance": 10}, "Did you mean 'first'?"),
        ({"head": "random"}, "head='random' is for class_imbalance above 1"),
        ({"head": "random", "class_imbalance": 10, "order": "markov"}, "and not for order 'markov'"),
    ],
)
def test_each_mistake_is_told_once(arguments, message):
    [found] = check(StreamSpec(**arguments))
    assert message in found


def test_mistakes_are_told_together():
    found = check(StreamSpec(order="idd", schedule="contin", gamma=-1, batch_size=0, severity=9))
    assert len(found) == 5


def test_unknown_arguments_are_told_with_the_nearest():
    assert StreamSpec.of(gamma=0.5) == StreamSpec(gamma=0.5)
    with pytest.raises(GottaError, match=r"argument of stream 'gama' is unknown\. Did you mean 'gamma'"):
        StreamSpec.of(gama=0.5)


def test_a_spec_is_frozen_and_hashable():
    spec = StreamSpec(domains=["snow", "fog"], classes=[1, 2])
    assert hash(spec) == hash(StreamSpec(domains=("snow", "fog"), classes=(1, 2)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.gamma = 1.0


def test_runs_have_a_length_of_at_least_one():
    assert not check(StreamSpec(order="runs"))
    assert check(StreamSpec(order="runs", run_length=0.5)) == ["run_length must be a number of at least 1 (got 0.5)."]
    assert not check(StreamSpec(order="runs", run_length=1))


def test_settings_of_somebody_elses_order_are_not_judged(monkeypatch):
    [found] = check(StreamSpec(order="mine:order", class_stay=0.5))
    assert "not registered" in found
    monkeypatch.setitem(ORDERS._items, "of_mine", lambda labels, class_stay: labels)
    assert not check(StreamSpec(order="of_mine", class_stay=0.5))
