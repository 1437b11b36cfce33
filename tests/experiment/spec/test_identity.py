"""A run's name changes with what it is made from: settings, defaults, and the user's own code."""

import hashlib
import pickle
import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from gotta import GottaError
from gotta.experiment.spec import identity as versions
from gotta.experiment.spec.run_spec import RunSpec
from gotta.memory import policies
from gotta.memory.builtin.fps import FPS
from gotta.methods import methods

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


def test_the_name_covers_the_settings_that_differ_from_the_default():
    assert spec().identity["settings"] == {
        "memory": {"name": "fps", "capacity": 32},
        "method": {"name": "tent", "statistics": "batch"},
        "regime": {"batch_size": 32, "adapt_every": 32, "score": "before"},
    }
    settings = spec(stream={"gamma": 0.2}, seed=3).identity["settings"]
    assert (settings["stream"], settings["seed"]) == ({"gamma": 0.2}, 3)


@pytest.mark.parametrize(
    "said",
    [
        {"memory": {"name": "fps", "capacity": 32, "epsilon": 0.005}},
        {"method": {"name": "tent", "lr": 1e-3, "preset": "official"}},
        {"data": {"name": "cifar10-mini", "seed": 0}},
        {"stream": {"gamma": 0.1, "redraws": 1}},
    ],
)
def test_saying_the_default_is_the_same_run(said):
    assert spec(**said).id == spec().id


@pytest.mark.parametrize(
    "changed",
    [
        {"memory": {"name": "fps", "capacity": 32, "epsilon": 0.01}},
        {"memory": {"name": "fps", "capacity": 32, "refresh_every": 3}},
        {"method": {"name": "tent", "loss": "come"}},
        {"method": {"name": "tent", "reset_every": 7}},
        {"method": {"name": "tent", "prior": "sticky"}},
        {"method": {"name": "tent", "prior": "sticky", "labels": "raw"}},
        {"data": {"name": "cifar10-mini", "seed": 1}},
        {"stream": {"redraws": 2}},
        {"guard": "warn"},
    ],
)
def test_another_setting_is_another_run(changed):
    assert spec(**changed).id != spec().id


def test_a_preset_is_its_values():
    settings = spec(method={"name": "tent", "preset": "imagenet-vit", "lr": 1e-3}).identity["settings"]["method"]
    assert settings["preset"] == "imagenet-vit"
    assert "lr" not in settings  # that of the preset


def test_another_version_of_a_part_is_another_run(monkeypatch):
    before = spec().id
    for kind, name in (("memory", "fps"), ("method", "tent"), ("data", "cifar10-mini"), ("statistics", "batch")):
        assert versions.version_of(kind, name) == 1
        monkeypatch.setitem(versions.read_versions(), (kind, name), (2, "anything"))
        assert spec().identity["parts"][kind] == {"version": 2}
        assert spec().id != before
        monkeypatch.undo()
    assert spec().id == before


def test_every_part_has_its_version():
    parts = spec(control="true_kcenter", guard="warn", method={"name": "deskew"}).identity["parts"]
    assert sorted(parts) == ["data", "guard", "memory", "method", "model", "order", "prior", "schedule", "statistics"]
    newer = {"method": 5, "prior": 2, "statistics": 5}  # of deskew
    assert parts == {kind: {"version": newer.get(kind, 1)} for kind in parts}


@pytest.mark.parametrize(
    ("method", "statistics", "waits"),
    [("tent", "class", True), ("rotta", "gated", True), ("tent", "batch", False), ("deskew", "class", False)],
)
def test_training_that_waits_for_a_change_has_a_version_of_its_own(method, statistics, waits):
    parts = spec(method={"name": method, "statistics": statistics}, memory={"name": "none"}).identity["parts"]
    assert ("waiting" in parts) is waits


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
    point = EntryPoint("plugged", "mine_policy:Mine", "gotta_tta.memory")
    monkeypatch.setitem(policies._plug_ins, "plugged", point)
    found = spec(memory={"name": "plugged", "capacity": 8}).identity["parts"]["memory"]
    assert found == {"files": {"mine_policy": hashlib.sha256(mine.read_bytes()).hexdigest()}}
    assert "mine_policy" not in sys.modules


def test_a_class_of_gottas_by_its_path_is_gottas_own():
    named = spec(memory={"name": "gotta.memory.builtin.fps:FPS", "capacity": 8})
    assert named.identity["parts"]["memory"] == {"version": 1}


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
