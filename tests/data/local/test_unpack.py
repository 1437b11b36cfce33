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


@pytest.mark.parametrize("name", ["../out", "a/../../out", "/gotta-out", "a/./../../out", ".."])
def test_a_name_that_leads_out_is_refused(tmp_path, name):
    with pytest.raises(GottaError, match="leads out of the folder"):
        unpack(tar(tmp_path / "a.tar", {"x": b"1", name: b"1"}), tmp_path / "into")
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as zipped:
        zipped.writestr("x", "1")
        zipped.writestr(name, "1")
    with pytest.raises(GottaError, match="leads out of the folder"):
        unpack(tmp_path / "b.zip", tmp_path / "into")
    assert everything(tmp_path) == ["a.tar", "b.zip"]


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (tarfile.SYMTYPE, "a link"),
        (tarfile.LNKTYPE, "a link"),
        (tarfile.FIFOTYPE, "neither a file nor a folder"),
        (tarfile.CHRTYPE, "neither a file nor a folder"),
    ],
)
def test_links_and_devices_are_refused(tmp_path, kind, what):
    with pytest.raises(GottaError, match=f"its entry 'link' is {what}"):
        unpack(tar(tmp_path / "a.tar", {"link": b""}, kind), tmp_path / "into")
    assert everything(tmp_path) == ["a.tar"]


def test_a_chain_of_long_links_does_not_lead_out(tmp_path):
    """The trick that Python's own filter falls for: a path so long that resolving it stops half way."""
    long, steps, inside = "d" * 247, "abcdefghijklmnop", ""
    with tarfile.open(tmp_path / "a.tar", "w") as archive:

        def add(name, kind, target=""):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, target
            archive.addfile(entry, io.BytesIO(b""))

        for step in steps:
            add(f"{inside}{long}", tarfile.DIRTYPE)
            add(f"{inside}{step}", tarfile.SYMTYPE, long)
            inside += f"{step}/"
        add("/".join(steps) + "/" + "l" * 254, tarfile.SYMTYPE, "../" * len(steps))
        add("escape", tarfile.SYMTYPE, "/".join(steps) + "/" + "l" * 254 + "/../../out")
        entry = tarfile.TarInfo("escape/file")
        entry.size = 5
        archive.addfile(entry, io.BytesIO(b"taken"))
    with pytest.raises(GottaError, match="is a link"):
        unpack(tmp_path / "a.tar", tmp_path / "into" / "data")
    assert everything(tmp_path) == ["a.tar"]


def test_a_file_that_takes_more_room_than_there_is(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("usage", (), {"free": 3}))
    with pytest.raises(GottaError, match="'x' needs 4 bytes, and there are 3 free"):
        unpack(tar(tmp_path / "a.tar", {"x": b"1234"}), tmp_path / "into")
    assert everything(tmp_path) == ["a.tar"]


def test_a_header_that_points_backwards_ends(tmp_path):
    """Python would go round and round."""
    archive = tar(tmp_path / "a.tar", {"x": b"1", "y": b"2"})
    content = bytearray(archive.read_bytes())
    header = content[1024:1536]
    header[124:136] = (-1024).to_bytes(12, "big", signed=True)  # the size, as GNU writes negative ones
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    content[1024:1536] = header
    archive.write_bytes(content)
    with pytest.raises(GottaError, match="cannot be unpacked"):
        unpack(archive, tmp_path / "into")


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.zip"])
def test_anything_else_is_one_message(tmp_path, name):
    for content in (b"", b"PK\x03\x04" + b"\xff" * 600, b"\x1f\x8b" + b"\0" * 600, b"x" * 2048):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(GottaError, match="cannot be unpacked"):
            unpack(tmp_path / name, tmp_path / "into")


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
