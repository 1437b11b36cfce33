"""Archives that anybody may have packed: their members in bounded time, and files only so large."""

import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

from gotta.errors import GottaError

LARGEST = 1 << 29  # bytes of one file that is read into memory; the largest of CIFAR has 155 MB


@contextmanager
def reading_error(what: str, way_out: str) -> Iterator[None]:
    """Whatever a file that anybody may have written makes Python raise becomes one error."""
    try:
        yield
    except GottaError:
        raise
    except Exception as error:  # a damaged archive makes Python raise nearly anything
        raise GottaError(f"{what}: {str(error).rstrip('.')}. {way_out}") from None


def tar_members(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """The members from first to last; Python itself follows a header that points backwards for ever."""
    last = -1
    while (member := tar.next()) is not None:
        if member.size < 0 or member.offset <= last:
            raise tarfile.ReadError(f"the entry '{member.name}' has an impossible size")
        last = member.offset
        yield member


def read_tar_member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    """The content of a file."""
    _check_size(member.name, member.size)
    file = tar.extractfile(member)
    assert file is not None
    return file.read()


def read_zip_member(archive: zipfile.ZipFile, name: str) -> bytes:
    _check_size(name, archive.getinfo(name).file_size)
    return archive.read(name)


def _check_size(name: str, size: int) -> None:
    if size > LARGEST:
        raise ValueError(f"'{name}' has {size:,} bytes, more than the {LARGEST:,} that are read")
