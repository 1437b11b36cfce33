"""A run's name changes with what it is made from: settings, defaults, and the user's own code."""

import hashlib
import pickle
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from gotta import GottaError
from gotta.data.dataset import DATASETS
from gotta.experiment.spec.run_spec import RunSpec
from gotta.memory import policies
from gotta.memory.builtin.fps import FPS
from gotta.methods import methods
from gotta.methods.tent import Tent

POLICY = """
from dataclasses import dataclass
from pathlib import Path
from gotta.memory.policy import Policy, REJECT

@dataclass(frozen=True)
class Mine(Policy):
    share: float = 0.5

    def place(self, table, new, rng):
        return REJECT
"""


def spec(**changes):
    given = {"method": {"name": "tent"}, "memory": {"name": "fps", "capacity": 32}, **changes}
    return RunSpec.of(given, imports=("mine_policy", "mine_method", "gotta.memory.builtin.fps"))


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A policy in a file of the user's own, forgotten by Python after the test."""
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "mine_policy.py"
    path.write_text(POLICY)
    monkeypatch.setattr(policies, "_permitted", {})
    yield path
    sys.modules.pop("mine_policy", None)


def test_the_name_covers_defaults_of_memories(monkeypatch):
    before = spec()
    assert before.id
    assert before.identity["parts"]["memory"]["settings"]["epsilon"] == 0.005

    @dataclass(frozen=True)
    class Changed(FPS):
        epsilon: float = 0.01

    Changed.__module__ = FPS.__module__
    monkeypatch.setitem(policies._items, "fps", Changed)
    after = spec()
    assert before.model_dump() == after.model_dump()
    assert before.id != after.id


def test_the_name_covers_presets_and_quirks_of_methods(monkeypatch):
    before = spec()
    assert before.id
    monkeypatch.setitem(Tent.presets["official"], "lr", 2e-3)
    after = spec()
    assert after.identity["parts"]["method"]["settings"]["lr"] == 2e-3
    assert before.id != after.id


def test_the_name_covers_what_every_method_takes():
    usual, chosen = (spec(method={"name": "tent", "prior": "sticky", **more}) for more in ({}, {"labels": "raw"}))
    assert usual.identity["parts"]["method"]["settings"]["prior"] == "sticky"
    assert usual.identity["parts"]["method"]["settings"]["labels"] == "filtered"
    assert chosen.identity["parts"]["method"]["settings"]["labels"] == "raw"
    assert usual.id != chosen.id


def test_settings_that_came_later_count_only_where_they_are_changed():
    settings = spec().identity["parts"]["method"]["settings"]
    assert not {"loss", "reset_every"} & settings.keys()
    for later in ({"loss": "come"}, {"reset_every": 7}):
        changed = spec(method={"name": "tent", **later})
        assert later.items() <= changed.identity["parts"]["method"]["settings"].items()
        assert changed.id != spec().id
    assert spec(method={"name": "rdumb"}).identity["parts"]["method"]["settings"]["reset_every"] == 1000


def test_the_name_covers_how_often_a_memory_is_refreshed_by_default():
    settings = spec(memory={"name": "fpsd", "capacity": 8}).identity["parts"]["memory"]["settings"]
    assert settings["refresh_every"] == 10
    never = spec(memory={"name": "fpsd", "capacity": 8, "refresh_every": 0}).identity["parts"]["memory"]["settings"]
    assert never["refresh_every"] is None


def test_the_name_covers_defaults_of_data_sets(monkeypatch):
    before, mini = spec().id, DATASETS.get("cifar10-mini")

    def changed(table="cifar", seed=1):
        return mini(table, seed)

    changed.__module__ = mini.__module__
    monkeypatch.setitem(DATASETS._items, "cifar10-mini", changed)
    assert spec().id != before


def test_every_part_says_what_it_is_made_of():
    parts = spec(control="true_kcenter", guard="warn").identity["parts"]
    assert sorted(parts) == ["data", "guard", "memory", "method", "model", "order", "schedule"]
    assert all(set(part) == {"settings"} for part in parts.values())
    assert parts["memory"]["settings"]["by"] == "pseudo"  # of the k-centre policy that it has
    assert parts["order"]["settings"]["underflow"] == "published"


def test_a_policy_of_the_users_is_its_arguments_and_its_file(mine):
    def made(**arguments):
        return spec(memory={"name": "mine_policy:Mine", "capacity": 8, **arguments})

    before = made()
    assert before.id
    digest = hashlib.sha256(mine.read_bytes()).hexdigest()
    assert before.identity["parts"]["memory"] == {"files": {"mine_policy": digest}}
    assert "mine_policy" not in sys.modules
    assert made(share=0.25).id != before.id
    mine.write_text(POLICY + "\n# another rule\n")
    assert made().id != before.id
    mine.write_text(POLICY)
    assert made().id == before.id


def test_a_registered_class_of_the_users_is_its_file_as_well(monkeypatch):
    @dataclass(frozen=True)
    class Here(FPS):
        pass

    monkeypatch.setitem(policies._items, "here", Here)
    found = spec(memory={"name": "here", "capacity": 8}).identity["parts"]["memory"]["files"]
    assert found[__name__] == hashlib.sha256(Path(__file__).read_bytes()).hexdigest()


def test_a_plug_in_is_the_file_that_its_entry_point_names(mine, monkeypatch):
    policies.names()
    point = EntryPoint("plugged", "mine_policy:Mine", "gotta.memory")
    monkeypatch.setitem(policies._plug_ins, "plugged", point)
    found = spec(memory={"name": "plugged", "capacity": 8}).identity["parts"]["memory"]
    assert found == {"files": {"mine_policy": hashlib.sha256(mine.read_bytes()).hexdigest()}}
    assert "mine_policy" not in sys.modules


def test_a_class_of_gottas_by_its_path_is_gottas_own():
    named = spec(memory={"name": "gotta.memory.builtin.fps:FPS", "capacity": 8})
    assert named.identity["parts"]["memory"]["settings"]["epsilon"] == 0.005


def test_the_name_is_worked_out_once_travels_with_the_spec_and_does_not_with_a_copy(monkeypatch):
    made = spec()
    first = made.id
    monkeypatch.setattr("gotta.experiment.spec.run_spec.identity_of", None)  # nobody may ask again
    assert made.id == first
    assert pickle.loads(pickle.dumps(made)).id == first
    monkeypatch.undo()
    assert made.model_copy(update={"seed": 5}).id == spec(seed=5).id != first


def test_a_cell_whose_code_changed_since_the_sweep_began_is_refused(mine):
    made = spec(memory={"name": "mine_policy:Mine", "capacity": 8})
    assert made.id
    assert policies.get("mine_policy:Mine")
    made.check_unchanged()
    mine.write_text(POLICY + "# edited\n")
    with pytest.raises(GottaError, match="code or the defaults of its memory are not those that the sweep began with"):
        made.check_unchanged()
    again = spec(memory={"name": "mine_policy:Mine", "capacity": 8})
    assert again.id != made.id
    with pytest.raises(GottaError, match="mine_policy changed after it was imported"):
        again.check_unchanged()


def test_methods_of_the_users_are_hashed_too(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "mine_method.py"
    path.write_text("from gotta.methods.tent import Tent\n\nclass Mine(Tent):\n    pass\n")
    made = spec(method={"name": "mine_method:Mine", "lr": 0.5})
    assert made.identity["parts"]["method"] == {"files": {"mine_method": hashlib.sha256(path.read_bytes()).hexdigest()}}
    assert methods.module_of("mine_method:Mine") == "mine_method"
    assert "mine_method" not in sys.modules
