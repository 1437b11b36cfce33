"""What a data set's images are, as one hash: of the files they are read from, or of the arrays that hold them.

A data set says with `content(domains)` what that is: arrays, files, and tuples of many files. One that does not say is
hashed by its labels and by some images of each domain.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gotta.errors import GottaError
from gotta.files import digest, write_atomically
from gotta.json_yaml import read_json
from gotta.types import Dataset

MANY = 1000  # files of which not every one is read
READ = 2**30  # bytes that are read of so many files; of the others their names and sizes count
SHOWN = 16  # images of each domain, of a data set that does not say what it consists of
Content = np.ndarray[Any, Any] | Path | tuple[Path, ...]

_known: "WeakKeyDictionary[Any, dict[tuple[str, ...], list[str]]]" = WeakKeyDictionary()
_digests: dict[str, str] = {}  # by where, how long and of when files are


def content_hash(data: Dataset, domains: Sequence[str], kept: Path | None = None, remember: bool = True) -> str:
    """The sha256 of what these domains consist of.

    `kept` is a file of what was hashed before; with `remember` what is new is added to it.
    """
    shown = tuple(sorted(set(domains)))
    named: list[Content] = list(data.content(shown)) if hasattr(data, "content") else []
    try:
        known = _known.setdefault(data, {})
    except TypeError:  # of a class of the user's own, with no hash or no weak references
        known = {}
    if shown not in known:  # arrays stay as they are; files are looked at each time, by size and date
        arrays = [item for item in named if isinstance(item, np.ndarray)]
        known[shown] = [_hash_array(array) for array in arrays or _some_images(data, shown)]
    files = [_hash_files(item, kept, remember) for item in named if not isinstance(item, np.ndarray)]
    return hashlib.sha256(" ".join([*known[shown], *files]).encode()).hexdigest()


def _some_images(data: Dataset, domains: Sequence[str]) -> list[np.ndarray[Any, Any]]:
    labels = np.asarray(data.labels)
    rows = np.unique(np.linspace(0, max(0, len(labels) - 1), SHOWN).astype(np.int64))[: len(labels)]
    return [labels, *(np.asarray(data.images(domain, rows)) for domain in domains if len(rows))]


def _hash_array(array: np.ndarray[Any, Any]) -> str:
    total = hashlib.sha256(f"{array.dtype.str}{array.shape}".encode())
    total.update(np.ascontiguousarray(array).data if array.size else b"")
    return total.hexdigest()


def _hash_files(paths: Path | tuple[Path, ...], kept: Path | None, remember: bool) -> str:
    """The hash of one file, or of many; read only if one of them is new or was changed."""
    several = paths if isinstance(paths, tuple) else (paths,)
    if not several:
        return ""
    top = os.path.commonpath([path.parent for path in several])
    try:
        found = [(path, path.stat()) for path in several]
        states = [(os.path.relpath(path, top), stat.st_size, stat.st_mtime_ns) for path, stat in found]
        key = hashlib.sha256(json.dumps([str(Path(top).resolve()), states]).encode()).hexdigest()
        if key not in _digests:
            _digests.update(_read(kept))
        if key not in _digests:
            _digests[key] = _read_through(several, [(name, size) for name, size, _ in states])
            if kept is not None and remember:
                _keep(kept, key)
    except OSError as error:
        raise GottaError(f"data cannot be read: {error}.") from error
    return _digests[key]


def _read_through(paths: Sequence[Path], named: Sequence[tuple[str, int]]) -> str:
    total = hashlib.sha256(json.dumps(named).encode())
    step = max(1, sum(size for _, size in named) // READ) if len(paths) > MANY else 1
    for path in paths[::step]:
        total.update(bytes.fromhex(digest(path)))
    return total.hexdigest()


def _read(kept: Path | None) -> dict[str, str]:
    try:
        found = read_json(kept) if kept is not None else {}
    except (OSError, ValueError):
        return {}
    return {k: v for k, v in found.items() if isinstance(v, str)} if isinstance(found, dict) else {}


def _keep(kept: Path, key: str) -> None:
    with suppress(GottaError):  # a folder that cannot be written costs the time to hash again, nothing else
        write_atomically(kept, json.dumps({**_read(kept), key: _digests[key]}, indent=1))
