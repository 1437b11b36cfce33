"""Stores on object storage: `s3://bucket/runs`, or any address that fsspec knows.

Such an address stands for a folder on this machine, in which everything works as in any other store. A finished run is
also one object, created only if there is none of its name, and whoever lacks it fetches it. Claims are objects that are
created exclusively. Snapshots, films and reports stay with the machine that made them.
"""

import io
import os
import re
import secrets
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from gotta.errors import GottaError
from gotta.experiment.sweep.leases import RETIRED, Folder

ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/{1,2}([^/].*)")  # a Path makes one slash of two; C: is a drive
NO_BUCKET = re.compile(r"[a-z][a-z0-9+.-]+:/*")
NOT_FIRST = "PreconditionFailed|ConditionalRequestConflict"  # what S3 says to who comes second
LARGEST = 1 << 32  # bytes of a run


def place_of(root: str | Path) -> Path:
    """The folder of a store: the one that is named, or the one on this machine that stands for an address."""
    if NO_BUCKET.fullmatch(str(root)):
        raise GottaError(f"the address '{root}' names no bucket. Expected one such as s3://bucket/runs.")
    return Path(root) if is_folder(root) else copies() / quote(name_of(root), safe="")


def is_folder(root: str | Path) -> bool:
    """Whether this names a folder or file, and not an address."""
    return ADDRESS.fullmatch(str(root)) is None


def name_of(root: str | Path) -> str:
    """A folder, or an address as people write it: a Path makes one slash of two."""
    found = ADDRESS.fullmatch(str(root))
    return str(root) if found is None else f"{found[1]}://{found[2].rstrip('/')}"


def copies() -> Path:
    """Where the folders are that stand for addresses; their names say which."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path.home() / ".cache")
    return cache / "gotta" / "stores"


def bucket_of(root: Path) -> "Bucket | None":
    """What a folder stands for. Only our own folders do, so that nobody's store makes this machine ask elsewhere."""
    return Bucket(unquote(root.name)) if root.resolve().parent == copies().resolve() else None


def claims_of(root: str | Path) -> "Bucket | Folder":
    """Where the claims of a store are: with its runs, or in the folder if no object can be created exclusively. There
    the engine that runs the cells sees to it that none is run twice."""
    bucket = bucket_of(Path(root))
    return bucket if bucket is not None and bucket.is_exclusive() else Folder(root)


class Bucket:
    """The few things that are asked of object storage. Whatever goes wrong there is an OSError."""

    def __init__(self, address: str) -> None:
        self.address = address

    def create(self, name: str, content: bytes) -> bool:
        """Write an object, unless there is one of this name."""
        try:
            self._ask("pipe_file", name, content, mode="create")
        except OSError as error:
            if isinstance(error, FileExistsError) or re.search(NOT_FIRST, f"{error} {error.__cause__}"):
                return False
            raise
        return True

    def replace(self, name: str, content: bytes) -> None:
        self._ask("pipe_file", name, content)

    def read(self, name: str) -> tuple[bytes, float] | None:
        """The content and when it was written, by the clock there."""
        with suppress(FileNotFoundError):
            return self._ask("cat_file", name), self._ask("modified", name).timestamp()
        return None

    def names(self, folder: str) -> list[str]:
        with suppress(FileNotFoundError):
            return sorted(Path(path).name for path in self._ask("ls", folder, detail=False))
        return []

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._ask("rm_file", name)

    def freshen(self, name: str, content: bytes, changed: bool) -> None:
        self.replace(name, content)

    def retire(self, name: str) -> None:
        self.replace(name, RETIRED)

    def clear(self, folder: str) -> None:
        for name in self.names(folder):
            self.remove(f"{folder}/{name}")

    def is_exclusive(self) -> bool:
        """Whether the second to create an object is refused. Some stores do not look at that condition."""
        probe = f".probe-{secrets.token_hex(8)}"
        self.replace(probe, b"")
        try:
            return not self.create(probe, b"")
        except OSError:
            return False
        finally:
            self.remove(probe)

    def _ask(self, what: str, name: str, *given: Any, **how: Any) -> Any:
        """Call one of fsspec's functions for an object or a folder of them."""
        from fsspec.core import url_to_fs

        try:
            files, root = url_to_fs(self.address, use_listings_cache=False)  # kept by fsspec, for each process
            files.invalidate_cache()
            return getattr(files, what)(f"{root}/{name}", *given, **how)
        except (ImportError, ValueError) as error:
            extra = " Install it with: pip install 'gotta-tta[s3]'" if self.address.startswith("s3:") else ""
            raise GottaError(f"cannot open '{self.address}': {error}.{extra}") from error
        except OSError:
            raise
        except Exception as error:  # of the library that speaks to the store
            raise OSError(f"{type(error).__name__}: {error}") from error


def pack(folder: Path) -> bytes:
    """The files of a run as one object."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name, recursive=False)
    return packed.getvalue()


def unpack(content: bytes, folder: Path, known: tuple[str, ...]) -> None:
    """Only plain files that a run has, of bounded size."""
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() and member.name in known else None
            if file is None or member.size > LARGEST:
                raise OSError(f"{member.name[:80]!r} is not a file of a run")
            (folder / member.name).write_bytes(file.read(LARGEST))
            os.utime(folder / member.name, (member.mtime, member.mtime))
