"""One data home, and never the current folder by surprise."""

from pathlib import Path

import pytest

from gotta.data.home import find, locate, named_home
from gotta.errors import GottaError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def test_without_a_name_it_is_the_users_own_folder_and_a_missing_one_is_told(tmp_path, monkeypatch):
    monkeypatch.delenv("GOTTA_DATA", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(
        GottaError,
        match=r"x \(a or b\) is needed, and the data folder .*gotta' does not exist.*let GOTTA_DATA or --data-dir",
    ):
        locate("x", "a", "b")
    (tmp_path / "gotta").mkdir()
    assert named_home() == tmp_path / "gotta"
    monkeypatch.setattr("sys.platform", "darwin")
    assert named_home() == Path.home() / "Library" / "Application Support" / "gotta"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert named_home() == tmp_path / "local" / "gotta"
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path / "gone"))
    with pytest.raises(GottaError, match="gone' does not exist"):
        locate("x", "a")


def test_the_first_name_there_is_found(folder):
    (folder / "b").touch()
    assert locate("thing", "a", "b") == folder / "b"
    with pytest.raises(GottaError, match=r"thing is not in .*Expected there: x or y"):
        locate("thing", "x", "y")


def test_a_packed_one_is_to_be_unpacked(folder):
    (folder / "CIFAR-10-C.tar").touch()
    with pytest.raises(GottaError, match=r"Unpack CIFAR-10-C.tar there"):
        locate("thing", "CIFAR-10-C")


def test_bare_names_are_of_the_home_and_paths_are_paths(folder):
    (folder.parent / "photos").mkdir()
    with pytest.raises(GottaError, match=r"not in .*home'.*has a slash: ./photos"):
        find("thing", "photos")
    assert find("thing", "./photos").resolve() == folder.parent / "photos"
    assert find("thing", Path("photos")) == Path("photos")
    (folder / "photos").mkdir()
    assert find("thing", "photos") == folder / "photos"
    with pytest.raises(GottaError, match="nothing at"):
        find("thing", "./gone", "photos")
    assert find("thing", None, "gone", "photos") == folder / "photos"
