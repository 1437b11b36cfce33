"""Unpacking an archive beside its destination and moving it in whole: never outside, never half.

Only files and folders are taken out, by names that stay inside of the destination. Links are refused: no data set has
any, and they are how an archive gets out, also where Python's own filter looks at them.
"""

import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from gotta.data.archives import reading_error, tar_members
from gotta.errors import GottaError


class Entry(NamedTuple):
    """What an archive holds: `open` opens the content of a file and is None for a folder."""

    name: str
    size: int
    open: Callable[[], Any] | None


def unpack(archive: Path, folder: Path) -> list[Path]:
    """What the archive brought to the folder. What is there already is not touched, so it can be repeated."""
    aside = folder / f".unpacking-{archive.name}"
    way_out = "Make room, or remove the archive and download it again."
    try:
        with reading_error(f"{archive} cannot be unpacked into {folder}", way_out):
            if _is_unpacked(archive, folder):
                return []
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(parents=True)
            with _entries(archive) as entries:
                _extract(entries, aside)
            if archive.suffix == ".tar":
                _check_end(archive)
            found = sorted(aside.iterdir())
            return [path.rename(folder / path.name) for path in found if not _exists(folder / path.name)]
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _is_unpacked(archive: Path, folder: Path) -> bool:
    """Whether all it has at its top is there. The list, which takes long, is read as far as that is so."""
    with _entries(archive) as entries:
        return all(_exists(folder / _top(entry.name)) for entry in entries)


def _top(name: str) -> str:
    """The first folder of a member's name, without what would lead out."""
    return next((part for part in PurePosixPath(name).parts if part not in ("/", "..")), ".")


@contextmanager
def _entries(archive: Path) -> Iterator[Iterable[Entry]]:
    """The files and folders of an archive, one after the other."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            yield (
                Entry(info.filename, info.file_size, None if info.is_dir() else partial(zipped.open, info))
                for info in zipped.infolist()
            )
    else:
        with tarfile.open(archive) as tar:
            yield (_tar_entry(tar, member) for member in tar_members(tar))


def _tar_entry(tar: tarfile.TarFile, member: tarfile.TarInfo) -> Entry:
    if not (member.isfile() or member.isdir()):
        kind = "a link" if member.islnk() or member.issym() else "neither a file nor a folder"
        told = f"the archive is not unpacked: its entry '{member.name}' is {kind}, and data sets have files and folders"
        raise GottaError(f"{told} only. Do not use it unless you know who made it.")
    return Entry(member.name, member.size, partial(tar.extractfile, member) if member.isfile() else None)


def _extract(entries: Iterable[Entry], folder: Path) -> None:
    """Write files and folders below this new, empty folder."""
    inside = folder.resolve()
    for entry in entries:
        name = PurePosixPath(entry.name)
        target = (inside / name).resolve()  # no link is ever made here, and if there were one it would show
        if name.is_absolute() or ".." in name.parts or not target.is_relative_to(inside):
            raise GottaError(f"the archive is not unpacked: its entry '{entry.name}' leads out of the folder.")
        if entry.open is None:
            target.mkdir(parents=True, exist_ok=True)
            continue
        if entry.size > (free := shutil.disk_usage(inside).free):
            raise GottaError(f"'{entry.name}' needs {entry.size:,} bytes, and there are {free:,} free. Make room.")
        target.parent.mkdir(parents=True, exist_ok=True)
        with entry.open() as data, target.open("wb") as file:
            shutil.copyfileobj(data, file, 1 << 20)
        if (written := target.stat().st_size) != entry.size:
            raise tarfile.ReadError(f"'{entry.name}' has {written:,} bytes instead of {entry.size:,}")


def _check_end(archive: Path) -> None:
    """tarfile takes a file that is cut between two members, or inside a header, for a complete one."""
    with tarfile.open(archive) as tar:
        for _ in tar_members(tar):
            pass
        end = tar.offset
    with archive.open("rb") as file:
        file.seek(end)
        if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise tarfile.ReadError("it is cut short")
