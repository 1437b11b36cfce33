"""Writing files so that a kill leaves the old one or the new one, never half of one."""

import os
import tempfile
from errno import EISDIR
from pathlib import Path

from gotta.errors import GottaError


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


def _unwritable(path: Path, error: OSError) -> GottaError:
    return GottaError(f"cannot write {path}: {error.strerror or error}. Choose a folder you can write to.")
