"""Writing files so that a kill leaves the old one or the new one, never half of one."""

import os
import tempfile
from pathlib import Path

from gotta.errors import GottaError


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write beside the target, flush to disk, then rename over it."""
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = Path(file.name)
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                temporary.unlink()
                raise
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise GottaError(
            f"cannot write {path}: {error.strerror or error}. Choose a folder you can write to."
        ) from error
