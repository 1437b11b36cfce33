"""The plug-in template: gotta finds it by its entry point, imports it only when it is named, and it keeps the rules."""

import importlib.util
import shutil
import sys
import tomllib
from pathlib import Path

import pytest

from gotta import Memory
from gotta.checks.memory import run
from gotta.memory import policies

TEMPLATE = Path(__file__).parents[2] / "examples" / "plugin"
MODULE = "gotta_thinned.thinned"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """What `pip install examples/plugin` would leave on the module path."""
    project = tomllib.loads((TEMPLATE / "pyproject.toml").read_text())["project"]
    shutil.copytree(TEMPLATE / "src" / "gotta_thinned", tmp_path / "gotta_thinned")
    about = tmp_path / "gotta_thinned-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups]
    (about / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("_items", "_plug_ins", "_permitted"):
        monkeypatch.setattr(policies, name, dict(getattr(policies, name)))
    monkeypatch.setattr(policies, "_loaded", False)
    yield
    for name in (MODULE, "gotta_thinned"):
        sys.modules.pop(name, None)


def test_it_is_found_by_name_and_imported_when_it_is_used(installed):
    assert "thinned" in policies.names()
    assert MODULE not in sys.modules
    memory = Memory("thinned", capacity=4, num_classes=3, every=2)
    assert MODULE in sys.modules
    assert memory.policy.every == 2


def test_it_keeps_the_rules(installed):
    assert run("thinned", examples=5, every=3).passed


def test_its_own_tests_pass(installed):
    spec = importlib.util.spec_from_file_location("test_thinned", TEMPLATE / "tests" / "test_thinned.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.test_every_second_sample_is_stored_and_the_oldest_leaves()
    module.test_a_step_of_nothing_is_refused()
