"""Unpacking an archive beside its destination and moving it in whole: never outside, never half."""

import shutil
import tarfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from gotta.errors import GottaError


def unpack(archive: Path, folder: Path) -> list[Path]:
    """What the archive brought to the folder. What is there already is not touched, so it can be repeated."""
    aside = folder / f".unpacking-{archive.name}"
    try:
        if _is_unpacked(archive, folder):
            return []
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        _extract(archive, aside)
        found = sorted(aside.iterdir())
        return [path.rename(folder / path.name) for path in found if not (folder / path.name).exists()]
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise GottaError(f"{archive} cannot be unpacked: {error}. Remove it and download it again.") from None
    except OSError as error:
        raise GottaError(f"{archive.name} cannot be unpacked into {folder}: {error.strerror or error}.") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _is_unpacked(archive: Path, folder: Path) -> bool:
    """Whether all it has at its top is there. The whole list, which takes long, is read only if its first entry is."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            return all((folder / top).exists() for top in {_top(name) for name in zipped.namelist()})
    with tarfile.open(archive) as tar:
        first = tar.next()
        if first is None or not (folder / _top(first.name)).exists():
            return False
        return all((folder / top).exists() for top in {_top(name) for name in tar.getnames()})


def _top(name: str) -> str:
    """The first folder of a member's name, without what would lead out."""
    return next((part for part in PurePosixPath(name).parts if part not in ("/", "..")), ".")


def _extract(archive: Path, folder: Path) -> None:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:  # takes the dots and slashes out of names by itself
            zipped.extractall(folder)
        return
    if not hasattr(tarfile, "data_filter"):
        raise GottaError(f"this Python cannot unpack safely. Use Python 3.11.4 or later, or tar -xf {archive}.")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
        end = tar.offset
    if archive.suffix == ".tar":
        with archive.open("rb") as file:
            file.seek(end)
            # tarfile takes a file that is cut between two members, or inside a header, for a complete one.
            if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
                raise tarfile.ReadError("it is cut short")
