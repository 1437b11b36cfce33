"""The files that a part of the user's own consists of, found and hashed without importing any of them."""

import ast
import hashlib
import importlib
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.machinery import BYTECODE_SUFFIXES, EXTENSION_SUFFIXES, ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from gotta.errors import GottaError

OWN = "gotta"
INSTALLED = ("site-packages", "dist-packages")
NO_SOURCE = (*EXTENSION_SUFFIXES, *BYTECODE_SUFFIXES)
_first_seen: dict[str, tuple[ModuleType, str]] = {}  # what an imported module's file was when first looked at


@dataclass(frozen=True)
class Found:
    """Where a module is: its file, if it has one, and where its sub-modules are, if it is a package."""

    file: str | None
    loader: Any
    locations: tuple[str, ...] | None

    def content(self) -> bytes | None:
        if self.file is None or not hasattr(self.loader, "get_data"):
            return None
        try:
            return bytes(self.loader.get_data(self.file))
        except OSError:
            return None


def is_own(module: str) -> bool:
    return module.partition(".")[0] == OWN


def source_files(module: str, what: str) -> dict[str, str]:
    """The sha256 of a module's file, and of each file beside it that it imports, by the names of the modules.

    Beside it means in its own package or folder: what others have installed and Python's own library are not followed,
    nor is what a module imports by a name that it makes up while it runs. `what` is whom the module belongs to.
    """
    first = _find(module)
    if first is None or first.content() is None:
        raise GottaError(
            f"{what}: the file of its module '{module}' is not found, so its runs would look like those of "
            "other code. Put it into a file of its own, in this folder or on PYTHONPATH."
        )
    surroundings = _surroundings(module, first)
    digests: dict[str, str] = {}
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in seen or not name or is_own(name):
            continue
        seen.add(name)
        waiting.append(name.rpartition(".")[0])  # a package is imported before what is in it
        found = _find(name)
        content = found.content() if found and found.file and _lies_in(found.file, surroundings) else None
        if found is None or content is None:
            continue
        digests[name] = hashlib.sha256(content).hexdigest()
        _remember(name, digests[name])
        package = name if found.locations is not None else name.rpartition(".")[0]
        waiting += _imports(content, package) if found.file and not found.file.endswith(NO_SOURCE) else ()
    return dict(sorted(digests.items()))


def _remember(name: str, digest: str) -> None:
    module = sys.modules.get(name)
    if module is not None and (name not in _first_seen or _first_seen[name][0] is not module):
        _first_seen[name] = module, digest


def find_changed(files: Mapping[str, str]) -> list[str]:
    """The modules of which this process still has the code of before, as far as it has looked."""
    first = {name: _first_seen[name] for name in files if name in _first_seen}
    return [name for name, (module, was) in first.items() if sys.modules.get(name) is module and files[name] != was]


def _find(name: str) -> Found | None:
    found = _find_loaded(name) or _walk(name)
    if found is None:  # a file may be so new that the list of its folder is of before
        importlib.invalidate_caches()
        found = _walk(name)
    return found


def _find_loaded(name: str) -> Found | None:
    """For a module that this process has imported, the file it came from, a running script included."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or not file:
        return None
    locations = getattr(module, "__path__", None)
    loader = getattr(module, "__loader__", None)
    loader = loader if hasattr(loader, "get_data") else SourceFileLoader(name, file)
    return Found(file, loader, None if locations is None else tuple(locations))


def _walk(name: str) -> Found | None:
    """Look for a module from package to package. `importlib.util.find_spec` would import the packages."""
    found, path = None, None
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        found = _look(".".join(parts[:depth]), path)
        if found is None or (depth < len(parts) and found.locations is None):
            return None
        path = found.locations
    return found


def _look(name: str, path: Sequence[str] | None) -> Found | None:
    others: list[Any] = [finder for finder in sys.meta_path if finder is not PathFinder]
    for finder in (PathFinder, *others):  # a package installed for editing may have a finder of its own
        try:
            spec: ModuleSpec | None = finder.find_spec(name, path)
        except (
            AttributeError,
            KeyError,
            ImportError,
            ValueError,
        ):  # a folder without __init__ whose parent is not imported
            spec = None
        if spec is not None and spec.origin is not None:
            locations = spec.submodule_search_locations
            return Found(spec.origin, spec.loader, None if locations is None else tuple(locations))
    tail = name.rpartition(".")[2]
    folders = [str(Path(entry or ".") / tail) for entry in (sys.path if path is None else path)]
    folders = [folder for folder in folders if Path(folder).is_dir()]
    return Found(None, None, tuple(folders)) if folders else None


def _surroundings(module: str, found: Found) -> tuple[Path, ...]:
    """The folders whose files are the user's own as well."""
    top = _find(module.partition(".")[0]) or found
    if top.locations is not None:
        package = tuple(Path(place).resolve() for place in top.locations)
    else:
        package = (Path(str(top.file)).resolve(),)
    folder = package[0].parent
    return package if set(INSTALLED) & set(folder.parts) or folder in _libraries() else (*package, folder)


def _lies_in(file: str, surroundings: Sequence[Path]) -> bool:
    path = Path(file).resolve()
    for place in surroundings:
        if path.is_relative_to(place):
            return not set(INSTALLED) & set(path.relative_to(place).parts)
    return False


@cache
def _libraries() -> frozenset[Path]:
    return frozenset(Path(path).resolve() for path in sysconfig.get_paths().values())


@lru_cache(maxsize=1024)
def _imports(content: bytes, package: str) -> tuple[str, ...]:
    """The names of all modules that a source may import, wherever in it that is written."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(dict.fromkeys(name for node in ast.walk(tree) for name in _list_imports(node, package)))


def _list_imports(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join(part for part in (*above, base) if part)
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names if base)
