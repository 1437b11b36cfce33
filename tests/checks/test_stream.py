"""The public suite passes every registered order and schedule and catches wrong ones."""

import random

import numpy as np
import pytest

from gotta.checks import stream as checks
from gotta.errors import GottaError
from gotta.streams import ORDERS, SCHEDULES

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("name", ORDERS.names())
def test_registered_orders_pass(name):
    checks.check("order", name, examples=12, elsewhere=False)


@pytest.mark.parametrize("name", SCHEDULES.names())
def test_registered_schedules_pass(name):
    checks.check("schedule", name, examples=12, elsewhere=False, repeats=2 if name == "recurring" else 1)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [("order", "dirichlet"), ("schedule", "gradual")])
def test_they_are_the_same_in_another_process(kind, name):
    report = checks.run(kind, name, examples=2)
    assert report.results[-1].property == checks.ELSEWHERE
    assert report.passed, str(report)


def repeats(labels):
    return np.zeros(len(labels), np.int64)


def beyond(labels):
    return np.arange(len(labels)) + 1


def fractions(labels):
    return np.arange(len(labels)) / 2


def table(labels):
    return np.arange(len(labels))[None]


def nothing(labels):
    return np.zeros(0, np.int64)


def by_chance(labels):
    return np.random.permutation(len(labels))  # noqa: NPY002


def own_generator(labels):
    return np.random.default_rng().permutation(len(labels))


def sorts_in_place(labels, rng):
    labels.sort()
    return np.arange(len(labels))


def fails_on_one(labels):
    return np.arange(len(labels)) if len(labels) > 1 else np.arange(1 // (len(labels) - 1))


WRONG_ORDERS = {
    repeats: "positions",
    beyond: "positions",
    fractions: "positions",
    table: "positions",
    nothing: "positions",
    by_chance: "global randomness",
    own_generator: "same seed",
    sorts_in_place: "stay as they were",
    fails_on_one: "one image alone",
}


def not_a_list(names):
    return tuple((name,) for name in names)


def bare_names(names):
    return list(names)


def empty_pool(names):
    return [()]


def other_domains(names):
    return [("jpeg_compression-5",)]


def shuffled(names):
    names = list(names)
    random.shuffle(names)
    return [(name,) for name in names]


def pops(names):
    return [(names.pop(),)]


WRONG_SCHEDULES = {
    not_a_list: "list of pools",
    bare_names: "list of pools",
    empty_pool: "list of pools",
    other_domains: "given domains",
    shuffled: "global randomness",
    pops: "stay as they were",
}
WRONG = [("order", part, words) for part, words in WRONG_ORDERS.items()]
WRONG += [("schedule", part, words) for part, words in WRONG_SCHEDULES.items()]


@pytest.mark.parametrize(("kind", "part", "words"), WRONG, ids=lambda value: getattr(value, "__name__", None))
def test_wrong_ones_are_caught(kind, part, words):
    report = checks.run(kind, part, examples=30)
    assert any(words in failure.property for failure in report.failures), str(report)


def test_right_functions_and_objects_pass():
    class Reversed:
        def __call__(self, labels, num_classes, gamma):
            return np.arange(len(labels))[::-1]

    checks.check("order", Reversed(), examples=10, gamma=0.5)
    checks.check("schedule", lambda names: [tuple(reversed(names))], examples=10)


def test_one_that_refuses_everything_is_told():
    def refuse(labels):
        raise GottaError("no labels for me.")

    with pytest.raises(GottaError, match=r"refuses everything it is checked on: no labels for me"):
        checks.run("order", refuse, examples=3)


@pytest.mark.parametrize(
    ("kind", "part", "words"),
    [
        ("order", "iidd", "Did you mean 'iid'"),
        ("orders", "iid", "Did you mean 'order'"),
        ("order", "json:dumps", "is a function and was not called. Expected a function with the argument labels"),
        ("schedule", "json:JSONDecoder", "another kind and was not called"),
        ("order", 3, "cannot be checked as order"),
    ],
)
def test_what_is_neither_is_the_callers_mistake(kind, part, words):
    for call in (checks.run, checks.check):
        with pytest.raises(GottaError, match=words):
            call(kind, part)
