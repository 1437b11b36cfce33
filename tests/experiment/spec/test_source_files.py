"""The files of a user's part, found without importing any of them."""

import hashlib
import sys
from textwrap import dedent
from types import ModuleType

import pytest

from gotta import GottaError
from gotta.experiment.spec.source_files import find_changed, source_files

BOOM = "raise AssertionError('imported')\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Writes modules to a folder on the path; each fails if somebody imports it."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text=""):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text) + BOOM)
        return path

    return write


def sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files(module):
    return source_files(module, f"memory '{module}:Mine'")


def test_a_module_is_its_file_and_is_not_imported(place):
    path = place("alone_mod.py")
    assert files("alone_mod") == {"alone_mod": sha(path)}
    assert "alone_mod" not in sys.modules
    path.write_text("x = 1\n")
    assert files("alone_mod") == {"alone_mod": sha(path)}


def test_what_it_imports_beside_it_counts_and_libraries_do_not(place):
    place("with_helpers.py", "import os, numpy, torch\nimport helper_one\ndef f():\n    from helper_two import g\n")
    place("helper_one.py", "import helper_three\nimport with_helpers\n")
    two, three = place("helper_two.py"), place("helper_three.py")
    place("unrelated_mod.py")
    found = files("with_helpers")
    assert list(found) == ["helper_one", "helper_three", "helper_two", "with_helpers"]
    assert (found["helper_two"], found["helper_three"]) == (sha(two), sha(three))
    assert not {"with_helpers", "helper_one"} & set(sys.modules)


def test_packages_and_their_modules(place):
    place("a_pack/__init__.py")
    place("a_pack/deep/__init__.py", "from .. import top\n")
    place("a_pack/top.py")
    place("a_pack/deep/part.py", "from . import near\nfrom ..other import thing\nfrom .nothing_there import x\n")
    place("a_pack/deep/near.py")
    place("a_pack/other.py")
    place("a_pack/unused.py")
    assert list(files("a_pack.deep.part")) == [
        "a_pack",
        "a_pack.deep",
        "a_pack.deep.near",
        "a_pack.deep.part",
        "a_pack.other",
        "a_pack.top",
    ]
    assert list(files("a_pack")) == ["a_pack"]


def test_folders_without_init_are_packages_as_well(place):
    path = place("loose_pack/inner/part.py", "from loose_pack.inner import second\n")
    place("loose_pack/inner/second.py")
    found = files("loose_pack.inner.part")
    assert list(found) == ["loose_pack.inner.part", "loose_pack.inner.second"]
    assert found["loose_pack.inner.part"] == sha(path)


def test_of_an_installed_package_only_its_own_files_count(place, tmp_path, monkeypatch):
    folder = tmp_path / "lib" / "site-packages"
    place("lib/site-packages/plugin_pack/__init__.py", "from plugin_pack.impl import Mine\nimport plugin_neighbour\n")
    place("lib/site-packages/plugin_pack/impl.py")
    place("lib/site-packages/plugin_neighbour.py")
    monkeypatch.syspath_prepend(folder)
    assert list(files("plugin_pack")) == ["plugin_pack", "plugin_pack.impl"]


def test_a_virtual_environment_inside_the_users_folder_is_not_the_users(place, tmp_path, monkeypatch):
    place("mine_by_venv.py", "import in_the_venv\n")
    place(".venv/site-packages/in_the_venv.py")
    monkeypatch.syspath_prepend(tmp_path / ".venv" / "site-packages")
    assert list(files("mine_by_venv")) == ["mine_by_venv"]


def test_of_a_script_that_runs_its_own_file_counts(place, monkeypatch):
    path = place("a_script.py", "import beside_it\n")
    place("beside_it.py")
    running = ModuleType("__main__")
    running.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "__main__", running)
    found = files("__main__")
    assert list(found) == ["__main__", "beside_it"]
    assert found["__main__"] == sha(path)


def test_a_file_written_a_moment_ago_is_found(place):
    with pytest.raises(GottaError):
        files("late_mod")
    place("late_mod.py")
    assert list(files("late_mod")) == ["late_mod"]


@pytest.mark.parametrize("module", ["not_there_at_all", "not_there.at.all", "sys"])
def test_a_module_without_a_file_is_one_message(module):
    with pytest.raises(GottaError, match=f"memory '{module}:Mine': the file of its module '{module}' is not found"):
        files(module)


def test_a_file_that_is_no_python_is_hashed_all_the_same(place):
    path = place("broken_mod.py", "def (:\n")
    assert files("broken_mod") == {"broken_mod": sha(path)}


def test_code_that_changed_after_it_was_imported_is_noticed(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "stale_mod.py"
    path.write_text("x = 1\n")
    import stale_mod

    assert stale_mod.x == 1
    assert find_changed(files("stale_mod")) == []
    path.write_text("x = 2\n")
    assert find_changed(files("stale_mod")) == ["stale_mod"]
    monkeypatch.delitem(sys.modules, "stale_mod")
    assert find_changed(files("stale_mod")) == []
