"""Which kind of part is meant by a name, and mistakes in one line."""

import sys

import pytest

from gotta.checks.parts import KINDS, SUITES, check_part, find_kind, find_kinds
from gotta.errors import GottaError

MINE = '''
import numpy as np
from gotta.memory import Policy
from gotta.methods import Method

called = []

class MyMethod(Method):
    """Does nothing."""

class MyPolicy(Policy):
    def place(self, table, new, rng):
        return 0

class MyData:
    def __init__(self, *given): called.append("MyData")
    def images(self, domain, indices): ...

class MyOrder:
    def __call__(self, labels): return np.arange(len(labels))

class RaisingOrder(MyOrder):
    def __init__(self): raise OSError("disk gone")

class Raising(MyPolicy):
    def __init__(self): raise OSError("disk gone")

class Wanting(MyPolicy):
    def __init__(self, size): ...

class Leaving(MyPolicy):
    def __init__(self): raise SystemExit(3)

class Both(MyPolicy):
    def images(self, domain, indices): ...

class Neither:
    def __init__(self): called.append("Neither")

def my_order(labels, rng): return rng.permutation(len(labels))
def my_schedule(names): return [(name,) for name in names]
def plain(): called.append("plain")
number = 3
'''


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "mine_of_parts.py").write_text(MINE)
    (tmp_path / "leaves_at_once.py").write_text("raise SystemExit(0)")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "mine_of_parts"
    for name in ("mine_of_parts", "leaves_at_once"):
        sys.modules.pop(name, None)
    for registry in KINDS.values():
        for name in [name for name in registry._permitted if name.startswith("mine_of_parts")]:
            del registry._permitted[name]


def test_there_is_a_suite_for_every_kind():
    assert list(KINDS) == list(SUITES) == ["method", "memory", "statistics", "prior", "data set", "order", "schedule"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("MyMethod", "method"),
        ("MyPolicy", "memory"),
        ("MyData", "data set"),
        ("MyOrder", "order"),
        ("my_order", "order"),
        ("my_schedule", "schedule"),
    ],
)
def test_the_kind_is_seen_without_calling_anything(mine, name, kind):
    assert find_kinds(f"{mine}:{name}") == [kind]
    assert sys.modules[mine].called == []


def test_registered_names_are_found():
    found = {name: find_kind(name) for name in ("tent", "fps", "gated", "patient", "cifar10-mini", "iid", "gradual")}
    assert list(found.values()) == ["method", "memory", "statistics", "prior", "data set", "order", "schedule"]


def test_a_name_of_two_kinds_needs_the_kind():
    with pytest.raises(GottaError, match=r"'note' is a method and an order. Say which is meant, as in --kind 'order'"):
        find_kind("note")
    assert find_kind("note", "order") == "order"
    with pytest.raises(GottaError, match="'note' does not name a memory, but a method and an order"):
        find_kind("note", "memory")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Neither", "is a class of another kind that is not a part of gotta's. Expected one of method: a subclass of"),
        ("plain", "is a function that is not a part"),
        ("number", "is a int that is not a part"),
        ("absent", "cannot be imported: AttributeError"),
        ("Raising", "cannot be built: OSError: disk gone"),
        ("RaisingOrder", "cannot be built: OSError: disk gone"),
        ("Wanting", "missing 1 required positional argument: 'size'. Give the arguments that it takes"),
        ("Leaving", "cannot be built: SystemExit: 3"),
        ("Both", "is a memory and a data set"),
    ],
)
def test_a_wrong_thing_is_one_line_and_was_not_called(mine, name, words):
    with pytest.raises(GottaError, match=words) as error:
        check_part(f"{mine}:{name}", examples=1)
    assert "\n" not in str(error.value)
    assert sys.modules[mine].called == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_such_module:Thing", "ModuleNotFoundError"),
        (":Thing", "ValueError"),
        ("leaves_at_once:Thing", "SystemExit"),
        ("subprocess:Popen", "not a part of gotta's"),
        ("os:system", "not a part of gotta's"),
        ("fsp", "Did you mean 'fps'"),
    ],
)
def test_a_wrong_name_is_one_line(mine, name, words):
    with pytest.raises(GottaError, match=words) as error:
        check_part(name)
    assert "\n" not in str(error.value)


def test_settings_may_have_any_name_and_an_unknown_kind_is_told(mine):
    assert check_part("cifar10-mini", examples=1, settings={"seed": 3}).passed
    assert check_part(f"{mine}:my_order", examples=2, settings={"gamma": 0.5}).passed
    with pytest.raises(GottaError, match="Did you mean 'data set'"):
        find_kind("fps", "dataset")
