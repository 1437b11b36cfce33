"""Writing files so that a kill leaves the old one or the new one, never half of one."""

import hashlib
import os
import tempfile
from collections.abc import Iterable
from errno import EISDIR
from functools import lru_cache
from pathlib import Path

from gotta.errors import GottaError

HEAD = 512  # bytes that show whether something else stands in the place of a file
PAGES = (b"<!doctype html", b"<html", b"<?xml", b"<head", b"<!--")


def check_writable(path: Path) -> None:
    """Find out now, before long work, that this file could not be written later."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        if path.is_dir():
            raise IsADirectoryError(EISDIR, "it is a folder")
    except OSError as error:
        raise _unwritable(path, error) from error


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write beside the target, flush to disk, then rename over it."""
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = Path(file.name)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
        temporary = None
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def not_data(head: bytes) -> str:
    """Whether these first bytes of a file are a web page or a pointer in place of the data."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith(PAGES):
        return "is a web page, not the file: the server answered with an error or a question"
    if start.startswith(b"version https://git-lfs"):
        return "is a Git LFS pointer, not the file: run git lfs pull where it came from"
    return ""


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines one by one, and flush them to disk."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def digest(path: Path) -> str:
    """The sha256 of a file, read again only if its size or one of its dates has changed."""
    status = path.stat()
    return _digest(path, (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino))


@lru_cache(maxsize=8192)
def _digest(path: Path, stamp: tuple[int, ...]) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(path: Path) -> None:
    """Make a rename survive a power cut, where folders can be synced at all."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unwritable(path: Path, error: OSError) -> GottaError:
    return GottaError(f"cannot write {path}: {error.strerror or error}. Choose a folder you can write to.")
