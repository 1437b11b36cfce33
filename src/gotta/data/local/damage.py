"""What is wrong with a file, found out from its first bytes and its size: nothing is loaded, nothing is unpickled."""

import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gotta.json_yaml import LARGEST, open_plain, parse_json

HEAD = 512
TAR_MAGIC_AT = 257
LFS = b"version https://git-lfs"
PAGES = (b"<!doctype html", b"<html", b"<?xml", b"<head", b"<!--")
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
GZIP = (b"\x1f\x8b",)
PICKLE = (b"\x80",)
STARTS: dict[str, tuple[tuple[bytes, ...], str]] = {
    ".gz": (GZIP, "a gzip archive"),
    ".tgz": (GZIP, "a gzip archive"),
    ".zip": (ZIP, "a zip archive"),
    ".npy": ((b"\x93NUMPY",), "a NumPy file"),
    ".npz": (ZIP, "a NumPy archive"),
    ".pt": (ZIP + PICKLE, "a PyTorch checkpoint"),
    ".pth": (ZIP + PICKLE, "a PyTorch checkpoint"),
    ".jpeg": ((b"\xff\xd8\xff",), "a JPEG image"),
    ".jpg": ((b"\xff\xd8\xff",), "a JPEG image"),
    ".png": ((b"\x89PNG",), "a PNG image"),
}
Seen = Callable[[int], None]  # how many bytes more were read


class Header(NamedTuple):
    """What a NumPy file says of itself, and how long it must be."""

    shape: tuple[int, ...]
    dtype: np.dtype
    size: int


def damage(path: Path, size: int | None = None) -> str:
    """Why this file cannot be what its name says, or nothing."""
    try:
        with open_plain(path, links=True) as file:
            head = file.read(HEAD)
        length = path.stat().st_size
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not head:
        return "is empty"
    wrong = not_data(head) or _wrong_start(path, head)
    if wrong:
        return wrong
    if size is not None and length != size:
        return f"is {'cut short' if length < size else 'too long'}: {length:,} bytes instead of {size:,}"
    if path.suffix == ".npy":
        return _npy_damage(path, length)
    if path.suffix == ".zip" or (path.suffix in (".pt", ".pth") and head.startswith(ZIP)):
        return _zip_damage(path)
    return _safetensors_damage(path, length) if path.suffix == ".safetensors" else ""


def not_data(head: bytes) -> str:
    """Whether these first bytes are a web page or a pointer in place of the data."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith(PAGES):
        return "is a web page, not the file: the server answered with an error or a question"
    if head.startswith(LFS):
        return "is a Git LFS pointer, not the file: run git lfs pull where it came from"
    return ""


def npy_header(path: Path) -> Header | str:
    """The header of a NumPy file; or what is wrong with it."""
    try:
        with open_plain(path, links=True) as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(file)
            if dtype.hasobject:
                return "holds Python objects, which are never loaded"
            return Header(shape, dtype, file.tell() + math.prod(shape) * dtype.itemsize)
    except Exception as error:  # a damaged header makes NumPy raise nearly anything
        return f"has no readable NumPy header: {error}"


def digest(path: Path, algorithm: str, seen: Seen = lambda count: None) -> str:
    """A hash of the file, read in pieces."""
    found = hashlib.new(algorithm, usedforsecurity=False)
    with open_plain(path, links=True) as file:
        while piece := file.read(1 << 20):
            found.update(piece)
            seen(len(piece))
    return found.hexdigest()


def _wrong_start(path: Path, head: bytes) -> str:
    suffix = path.suffix.lower()
    if suffix == ".tar":
        return "" if head[TAR_MAGIC_AT : TAR_MAGIC_AT + 5] == b"ustar" else "is not a tar archive"
    starts, what = STARTS.get(suffix, ((b"",), ""))
    return "" if head.startswith(starts) else f"is not {what}"


def _npy_damage(path: Path, length: int) -> str:
    header = npy_header(path)
    if isinstance(header, str):
        return header
    if length < header.size:
        return f"is cut short: {length:,} bytes, but shape {header.shape} needs {header.size:,}"
    return f"is too long: {length:,} bytes for shape {header.shape}" if length > header.size else ""


def _zip_damage(path: Path) -> str:
    """The directory of a zip stands at its end, so a cut file has none."""
    import zipfile

    return "" if zipfile.is_zipfile(path) else "is cut short: the end of the archive is missing"


def _safetensors_damage(path: Path, length: int) -> str:
    """The header lists where each tensor ends, so the length is known from it."""
    with open_plain(path, links=True) as file:
        described = int.from_bytes(file.read(8), "little")
        try:
            listed = parse_json(file.read(described) if described < min(length, LARGEST) else b"")
            ends = [int(tensor["data_offsets"][1]) for name, tensor in listed.items() if name != "__metadata__"]
        except (ValueError, LookupError, TypeError, AttributeError):
            return "is not a safetensors file"
    needed = 8 + described + max(ends, default=0)
    return "" if length == needed else f"has {length:,} bytes, but its tensors need {needed:,}"
