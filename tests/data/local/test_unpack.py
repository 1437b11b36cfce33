"""Archives are unpacked whole, inside, or not at all."""

import io
import tarfile
import zipfile

import pytest

from gotta.data.local.unpack import unpack
from gotta.errors import GottaError


def tar(path, members, kind=tarfile.REGTYPE):
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.type = len(content), kind
            if kind == tarfile.SYMTYPE:
                entry.size, entry.linkname = 0, "/etc/passwd"
            archive.addfile(entry, io.BytesIO(content))
    return path


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_tar_and_a_zip(tmp_path):
    archive = tar(tmp_path / "a.tar", {"fog/1/x": b"1", "snow/1/y": b"2"})
    assert unpack(archive, tmp_path / "into") == [tmp_path / "into/fog", tmp_path / "into/snow"]
    assert everything(tmp_path / "into") == ["fog/1/x", "snow/1/y"]
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as zipped:
        zipped.writestr("tiny/val/z", "3")
    unpack(tmp_path / "b.zip", tmp_path / "into")
    assert (tmp_path / "into/tiny/val/z").read_text() == "3"


def test_nothing_leaves_the_folder(tmp_path):
    for members, kind in (({"../out": b"1"}, tarfile.REGTYPE), ({"link": b""}, tarfile.SYMTYPE)):
        with pytest.raises(GottaError, match="cannot be unpacked"):
            unpack(tar(tmp_path / "a.tar", members, kind), tmp_path / "into")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as zipped:
        zipped.writestr("../../out", "1")
    unpack(tmp_path / "b.zip", tmp_path / "into")
    assert everything(tmp_path) == ["a.tar", "b.zip", "into/out"]


def test_a_cut_archive_leaves_nothing(tmp_path):
    archive = tar(tmp_path / "a.tar", {"x": b"1" * 5000, "y": b"2" * 5000})
    archive.write_bytes(archive.read_bytes()[:6000])
    with pytest.raises(GottaError, match="download it again"):
        unpack(archive, tmp_path)
    assert everything(tmp_path) == ["a.tar"]


def test_what_is_there_stays(tmp_path):
    (tmp_path / "fog").mkdir()
    (tmp_path / "fog/mine").write_text("mine")
    archive = tar(tmp_path / "a.tar", {"fog/x": b"1", "snow/y": b"2"})
    assert unpack(archive, tmp_path) == [tmp_path / "snow"]
    assert everything(tmp_path) == ["a.tar", "fog/mine", "snow/y"]
    assert unpack(archive, tmp_path) == []
