"""Benchmarks are not run by tests, but what they time by name has to be there."""

import importlib.util
import sys
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


def load(path):
    """A benchmark, which may import another one; afterwards their names mean again what they mean to the tests."""
    spec = importlib.util.spec_from_file_location(f"benchmark_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_benchmark_can_be_imported_and_times_what_is_there(path):
    module = load(path)
    timed = [place for places in getattr(module, "TIMED", {}).values() for place in places]
    undo = [(owner, name) for owner, names in getattr(module, "UNDO", {}).items() for name in names]
    for owner, name in [*timed, *undo]:
        assert hasattr(owner, name), f"{path.name} times {name} of {owner}"
