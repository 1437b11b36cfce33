"""Defaults change only with the version of their part."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import pytest

from gotta.experiment.spec.identity import FORMAT, read_versions
from gotta.memory import policies
from gotta.memory.builtin.fps import FPS
from gotta.methods.tent import Tent

WAY_OUT = "run python .ci/pin_defaults.py (docs/design.md, What tells runs apart)"


def load_pins():
    found = importlib.util.spec_from_file_location(
        "pin_defaults", Path(__file__).parents[3] / ".ci" / "pin_defaults.py"
    )
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


pins = load_pins()


def test_the_defaults_of_every_part_are_those_of_its_version():
    parts = pins.list_parts()
    assert len(parts) > 80
    pinned = {part: read_versions().get(part, (0, "nothing is pinned"))[1] for part in parts}
    assert {part: pins.hash_defaults(*part) for part in parts} == pinned, WAY_OUT
    assert set(read_versions()) == set(parts), f"a part is gone; {WAY_OUT}"


def test_another_default_of_a_memory_has_another_hash(monkeypatch):
    @dataclass(frozen=True)
    class Changed(FPS):
        epsilon: float = 0.01

    before = pins.hash_defaults("memory", "fps")
    monkeypatch.setitem(policies._items, "fps", Changed)
    assert pins.hash_defaults("memory", "fps") != before


def test_another_preset_of_a_method_has_another_hash(monkeypatch):
    before = pins.hash_defaults("method", "tent")
    monkeypatch.setitem(Tent.presets["official"], "lr", 2e-3)
    assert pins.hash_defaults("method", "tent") != before


@pytest.mark.parametrize(
    ("kind", "name", "default", "value"),
    [
        ("memory", "fpsd", "refresh_every", 10),
        ("prior", "patient", "hurry", 4.0),
        ("statistics", "running", "rate", 0.05),
        ("data", "cifar10-mini", "table", "cifar"),
        ("guard", "guard", "ALARM", 0.2),
    ],
)
def test_what_counts_as_a_default(kind, name, default, value):
    assert pins.defaults_of(kind, name)[default] == value


def test_the_defaults_of_streams_and_sections_are_those_of_the_format():
    found = pins.defaults_of("spec", str(FORMAT))
    assert found["stream"]["gamma"] == 0.1
    assert found["regime"]["reset"] == "never"
