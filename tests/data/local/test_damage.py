"""What the first bytes and the size of a file say, without loading it."""

import gzip
import hashlib
import io
import os
import tarfile
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.numpy import save_file

from gotta.data.local.damage import Header, damage, digest, npy_header


def a_tar(path, compression=""):
    with tarfile.open(path, f"w:{compression}") as tar:
        entry = tarfile.TarInfo("a/b")
        entry.size = 3
        tar.addfile(entry, io.BytesIO(b"abc"))


def a_zip(path):
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.writestr("a/b", "abc")


MAKERS = {
    "a.tar": a_tar,
    "a.tar.gz": lambda path: a_tar(path, "gz"),
    "a.tgz": lambda path: path.write_bytes(gzip.compress(b"abc")),
    "a.zip": a_zip,
    "a.npy": lambda path: np.save(path, np.arange(60, dtype=np.uint8).reshape(5, 2, 2, 3)),
    "a.pt": lambda path: torch.save({"state_dict": {"w": torch.zeros(3)}}, path),
    "a.pth": lambda path: torch.save({"w": torch.zeros(3)}, path, _use_new_zipfile_serialization=False),
    "a.safetensors": lambda path: save_file({"w": np.zeros((2, 3), np.float32)}, path),
    "a.JPEG": lambda path: Image.new("RGB", (4, 4)).save(path),
    "a.png": lambda path: Image.new("RGB", (4, 4)).save(path),
    "data_batch_1": lambda path: path.write_bytes(b"\x80\x02}q\x01"),
}


@pytest.fixture(params=MAKERS)
def sound(request, tmp_path):
    path = tmp_path / request.param
    MAKERS[request.param](path)
    return path


def test_sound_files_are_sound(sound):
    assert damage(sound) == ""
    assert damage(sound, sound.stat().st_size) == ""


def test_a_wrong_size_is_told(sound):
    size = sound.stat().st_size
    assert damage(sound, size + 1) == f"is cut short: {size:,} bytes instead of {size + 1:,}"
    assert "too long" in damage(sound, size - 1)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\r\n  <!DOCTYPE HTML>\n<title>Google Drive - Quota exceeded", "web page"),
        (b"<html><body>403", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n", "Git LFS pointer"),
        (b"", "is empty"),
    ],
)
def test_what_is_no_data_at_all(tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    assert told in damage(tmp_path / name)


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "data_batch_1"])
def test_content_of_another_kind(tmp_path, name):
    (tmp_path / name).write_bytes(b"something else entirely" * 40)
    assert "is not a" in damage(tmp_path / name)


@pytest.mark.parametrize("name", ["a.npy", "a.zip", "a.pt", "a.safetensors"])
def test_a_cut_file_is_found_out_without_a_known_size(tmp_path, name):
    path = tmp_path / name
    MAKERS[name](path)
    path.write_bytes(path.read_bytes()[:-10])
    assert damage(path)


def test_a_header_and_what_it_promises(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((5, 2, 2, 3), np.uint8))
    header = npy_header(tmp_path / "a.npy")
    assert header == Header((5, 2, 2, 3), np.dtype(np.uint8), (tmp_path / "a.npy").stat().st_size)
    with (tmp_path / "a.npy").open("ab") as file:
        file.write(b"more")
    assert "too long" in damage(tmp_path / "a.npy")


def test_objects_in_a_numpy_file_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"a": 1}], object), allow_pickle=True)
    assert "Python objects" in damage(tmp_path / "a.npy")


def test_a_link_to_nothing(tmp_path):
    (tmp_path / "a.zip").symlink_to(tmp_path / "gone")
    assert "cannot be read" in damage(tmp_path / "a.zip")


def test_the_digest_counts_what_it_reads(tmp_path):
    content, heard = bytes(3_000_000), []
    (tmp_path / "a").write_bytes(content)
    assert digest(tmp_path / "a", "md5", heard.append) == hashlib.md5(content).hexdigest()
    assert sum(heard) == len(content)


@pytest.mark.parametrize("name", ["labels.npy", "a.tar", "a.zip", "net.safetensors", "net.pt"])
def test_a_pipe_is_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    assert "not a plain file" in damage(tmp_path / name)
    assert "not a plain file" in npy_header(tmp_path / name)


@pytest.mark.parametrize(
    "header",
    [
        b"[" * 100_000,
        b'{"a": {"data_offsets": ["x", "y"]}}',
        b'{"a": {"data_offsets": []}}',
        b'{"a": ' + b"1" * 5000 + b"}",
        b"[]",
        b'{"a": 1}',
    ],
)
def test_a_forged_header_of_tensors_is_told(tmp_path, header):
    path = tmp_path / "net.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    assert damage(path) == "is not a safetensors file"
    path.write_bytes((1 << 62).to_bytes(8, "little") + header)
    assert damage(path) == "is not a safetensors file"


@pytest.mark.parametrize(
    "header", ["{'descr': '|u1', 'fortran_order': False, 'shape': (" + "9" * 400 + ",)}", "(" * 500, "x\0'"]
)
def test_a_forged_header_of_an_array_is_told(tmp_path, header):
    path = tmp_path / "labels.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
    assert damage(path)
