"""Defaults change only with the version of their part."""

from dataclasses import dataclass

import pytest

from gotta.experiment.spec import identity as versions
from gotta.memory import policies
from gotta.memory.builtin.fps import FPS
from gotta.methods.tent import Tent

WAY_OUT = "run python .ci/pin_defaults.py (docs/design.md, What tells runs apart)"


def test_the_defaults_of_every_part_are_those_of_its_version():
    parts = versions.list_parts()
    assert len(parts) > 80
    pinned = {part: versions.read_versions().get(part, (0, "nothing is pinned"))[1] for part in parts}
    assert {part: versions.hash_defaults(*part) for part in parts} == pinned, WAY_OUT
    assert set(versions.read_versions()) == set(parts), f"a part is gone; {WAY_OUT}"


def test_another_default_of_a_memory_has_another_hash(monkeypatch):
    @dataclass(frozen=True)
    class Changed(FPS):
        epsilon: float = 0.01

    before = versions.hash_defaults("memory", "fps")
    monkeypatch.setitem(policies._items, "fps", Changed)
    assert versions.hash_defaults("memory", "fps") != before


def test_another_preset_of_a_method_has_another_hash(monkeypatch):
    before = versions.hash_defaults("method", "tent")
    monkeypatch.setitem(Tent.presets["official"], "lr", 2e-3)
    assert versions.hash_defaults("method", "tent") != before


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
    assert versions.defaults_of(kind, name)[default] == value


def test_the_defaults_of_streams_and_sections_are_those_of_the_format():
    found = versions.defaults_of("spec", str(versions.FORMAT))
    assert found["stream"]["gamma"] == 0.1
    assert found["regime"]["reset"] == "never"
