"""The files that a part of the user's own consists of, found and hashed without importing any of them."""

import ast
import hashlib
import importlib
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from importlib.machinery import all_suffixes
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from gotta.errors import GottaError

OWN = "gotta"
INSTALLED = ("site-packages", "dist-packages")
_first_seen: dict[str, tuple[ModuleType, str]] = {}  # what an imported module's file was when first looked at


def is_own(module: str) -> bool:
    return module.partition(".")[0] == OWN


def source_files(module: str, what: str) -> dict[str, str]:
    """The sha256 of a module's file, and of each file beside it that it imports, by the names of the modules.

    Beside it means in its own package or folder: what others have installed and Python's own library are not followed,
    nor is what a module imports by a name that it makes up while it runs. `what` is whom the module belongs to.
    """
    top = module.partition(".")[0]
    base = _find_folder(top)
    if base is None or _find_file(base, module) is None:
        told = f"{what}: the file of its module '{module}' is not found"
        raise GottaError(f"{told}. Put it into a file of its own, in this folder or on PYTHONPATH.")
    is_installed = bool(set(INSTALLED) & set(base.parts)) or base in _libraries()
    digests: dict[str, str] = {}
    seen, waiting = {""}, [module]
    while waiting:
        name = waiting.pop()
        if name in seen or is_own(name) or (is_installed and name.partition(".")[0] != top):
            continue
        seen.add(name)
        waiting.append(name.rpartition(".")[0])  # a package is imported before what is in it
        if (path := _find_file(base, name)) is not None:
            content = path.read_bytes()
            digests[name] = hashlib.sha256(content).hexdigest()
            _remember(name, digests[name])
            waiting += _imports(content, name if path.stem == "__init__" else name.rpartition(".")[0])
    return dict(sorted(digests.items()))


def _remember(name: str, digest: str) -> None:
    module = sys.modules.get(name)
    if module is not None and (name not in _first_seen or _first_seen[name][0] is not module):
        _first_seen[name] = module, digest


def find_changed(files: Mapping[str, str]) -> list[str]:
    """The modules of which this process still has the code of before, as far as it has looked."""
    first = {name: _first_seen[name] for name in files if name in _first_seen}
    return [name for name, (module, was) in first.items() if sys.modules.get(name) is module and files[name] != was]


def _find_folder(top: str) -> Path | None:
    """Where a module or package outside of any other one lies. Nothing is imported for it."""
    loaded = sys.modules.get(top)
    if loaded is not None and getattr(loaded, "__file__", None):  # a running script included
        path = Path(str(loaded.__file__)).resolve()
        return path.parent.parent if path.stem == "__init__" else path.parent
    with suppress(ValueError):  # it is what somebody types
        found = find_spec(top)
        if found is None:  # a file may be so new that the list of its folder is of before
            importlib.invalidate_caches()
            found = find_spec(top)
        if found is not None and (found.has_location or found.submodule_search_locations):
            return Path(next(iter(found.submodule_search_locations or [str(found.origin)]))).resolve().parent
    return None


def _find_file(base: Path, name: str) -> Path | None:
    script = getattr(sys.modules[name], "__file__", None) if name == "__main__" else None
    stem = base.joinpath(*name.split("."))
    paths = [stem / "__init__.py", *(stem.with_name(stem.name + suffix) for suffix in all_suffixes())]
    return next((path for path in ([Path(script)] if script else paths) if path.is_file()), None)


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
