"""Names for things that can be added in one file: built in, by a decorator, by an entry point, or as `module:Class`."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from fnmatch import fnmatchcase
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from gotta.errors import GottaError, unknown

T = TypeVar("T")


class Registry(Generic[T]):
    """The known things of one kind.

    Every module in `package` is imported at the first look-up, so that a file dropped there needs no list to be edited;
    then every entry point of the group `gotta.<kind>`, written as one word.
    """

    def __init__(self, kind: str, package: str) -> None:
        self.kind, self.package = kind, package
        self._items: dict[str, T] = {}
        self._plugged: dict[str, str] = {}  # for each plug-in the module that its package names
        self._loaded = False

    def register(self, name: str) -> Callable[[T], T]:
        def keep(item: T) -> T:
            if name in self._items and self._items[name] is not item:
                raise GottaError(f"{self.kind} '{name}' is registered twice. Choose another name.")
            self._items[name] = item
            return item

        return keep

    def names(self) -> list[str]:
        self._load()
        return sorted(self._items)

    def match(self, patterns: str) -> list[str]:
        """The names that match comma-separated wildcards, in the order of the patterns."""
        found: list[str] = []
        for pattern in (part.strip() for part in patterns.split(",")):
            hits = [name for name in self.names() if fnmatchcase(name, pattern)] or [pattern]
            for name in hits:
                self.get(name)
            found += [name for name in hits if name not in found]
        return found

    def get(self, name: str) -> T:
        self._load()
        if name in self._items:
            return self._items[name]
        if ":" in name:
            return self._import(name)
        raise unknown(self.kind, name, self._items)

    def module_of(self, name: str) -> str:
        """The module that a thing is from; one named as `module:Class` is not imported for that."""
        module, colon, _ = name.partition(":")
        if colon:
            return module
        item = self.get(name)
        return self._plugged.get(name) or str(getattr(item, "__module__", None) or type(item).__module__)

    def build(self, name: str, **arguments: Any) -> Any:
        """Call the registered thing after checking the argument names against its signature."""
        item = self.get(name)
        assert callable(item)
        self.check_arguments(name, arguments)
        return item(**arguments)

    def check_arguments(self, name: str, arguments: dict[str, Any]) -> None:
        parameters = inspect.signature(self.get(name)).parameters  # type: ignore[arg-type]
        if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            return
        for argument in arguments:
            if argument not in parameters:
                raise unknown(f"argument of {self.kind} '{name}'", argument, parameters)

    def _import(self, name: str) -> T:
        module, _, attribute = name.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]
        except Exception as error:  # whatever a module of the caller's own raises
            raise GottaError(
                f"{self.kind} '{name}' cannot be imported: {type(error).__name__}: {error}. "
                f"Expected module:Class, importable from here."
            ) from error

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True  # at once: a module may look something up while it is imported
        try:
            package = importlib.import_module(self.package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self.package}.{module.name}")
            for point in entry_points(group=f"gotta.{self.kind.replace(' ', '')}"):
                if point.name not in self._items:
                    self._items[point.name] = self._load_plugin(point)
                    self._plugged[point.name] = point.module
        except BaseException:
            self._loaded = False  # else the next look-up would miss what was not imported
            raise

    def _load_plugin(self, point: EntryPoint) -> T:
        try:
            return point.load()  # type: ignore[no-any-return]
        except Exception as error:
            raise GottaError(
                f"the plug-in {self.kind} '{point.name}' ({point.value}) cannot be imported: "
                f"{type(error).__name__}: {error}. Repair or uninstall its package."
            ) from error
