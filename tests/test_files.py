"""Files are written whole or not at all, and nothing is left lying about."""

import os

import pytest

from gotta.errors import GottaError
from gotta.files import check_writable, write_atomically


@pytest.mark.parametrize(
    ("content", "expected"), [("größe\n", "größe\n".encode()), (b"\x00\xff", b"\x00\xff"), ("", b"")]
)
def test_writes_text_and_bytes_and_makes_folders(tmp_path, content, expected):
    path = tmp_path / "a" / "b" / "file.txt"
    write_atomically(path, content)
    assert path.read_bytes() == expected
    assert list(path.parent.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o644


def test_replaces_what_was_there(tmp_path):
    path = tmp_path / "file"
    path.write_text("a long old content")
    write_atomically(path, "new")
    assert path.read_text() == "new"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failure_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    path.write_text("old")

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*{"fsync": (os, "fsync"), "replace": ("pathlib.Path.replace",)}[step], fail)
    with pytest.raises(GottaError, match=r"cannot write .*file: No space left on device. Choose a folder"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_interruption_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("write", [check_writable, lambda path: write_atomically(path, "new")])
def test_folder_in_the_files_place(tmp_path, write):
    (tmp_path / "file").mkdir()
    with pytest.raises(GottaError, match=r"cannot write .*file"):
        write(tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("write", [check_writable, lambda path: write_atomically(path, "new")])
def test_file_in_the_folders_place(tmp_path, write):
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(GottaError, match=r"cannot write .*folder/file: (Not a directory|File exists)"):
        write(tmp_path / "folder" / "file")
    assert (tmp_path / "folder").read_text() == "a file"


@pytest.mark.parametrize("write", [check_writable, lambda path: write_atomically(path, "new")])
def test_folder_without_permission(tmp_path, write):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    tmp_path.chmod(0o500)
    with pytest.raises(GottaError, match=r"cannot write .*: Permission denied"):
        write(tmp_path / "file")


def test_looking_whether_a_file_can_be_written_writes_none(tmp_path):
    check_writable(tmp_path / "new" / "file")
    assert list(tmp_path.iterdir()) == [tmp_path / "new"]
    assert not list((tmp_path / "new").iterdir())
