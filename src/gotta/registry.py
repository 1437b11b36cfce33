"""Names for things that can be added in one file: built in, by a decorator, by an entry point, or as `module:Class`.

A name never runs code that nobody asked for: a plug-in is imported when it is named, and `module:Class` only where the
caller gave it (`take`, `permit`). One that stands in a file of somebody else's is refused.
"""

import importlib
import importlib.util
import inspect
import pkgutil
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from gotta.errors import GottaError, match_names, unknown

T = TypeVar("T")


class Registry(Generic[T]):
    """The known things of one kind.

    A file dropped into `package` needs no list to be edited: a look-up imports the file of that name if there is one,
    else every module.
    Entry points of the group `gotta.<kind>`, written as one word, are known by name and imported when asked for.
    `is_kind` tells whether a class of the caller's is one of these things, `expected` says in words what that takes;
    without them there are registered things only.
    """

    def __init__(
        self, kind: str, package: str, is_kind: Callable[[type], bool] | None = None, expected: str = ""
    ) -> None:
        self.kind, self.package, self.is_kind, self.expected = kind, package, is_kind, expected
        self._items: dict[str, T] = {}
        self._plug_ins: dict[str, EntryPoint] = {}
        self._permitted: dict[str, T | None] = {}  # each `module:Class` of the caller's; None until it is imported
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
        return sorted({*self._items, *self._plug_ins})

    def match(self, patterns: str) -> list[str]:
        """The names that match comma-separated wildcards, in the order of the patterns. Nothing is imported for it."""
        of_callers = [part.strip() for part in patterns.split(",") if ":" in part]
        return match_names(self.kind, patterns, [*self.names(), *of_callers])

    def is_user_part(self, name: str) -> bool:
        """Whether it is code that does not come with gotta and would have to be imported to be looked at."""
        self._load_for(name)
        return name not in self._items and (":" in name or name in self._plug_ins)

    def permit(self, name: str) -> None:
        """The caller names this `module:Class`: from now on it may be imported."""
        self._permitted.setdefault(name, None)

    def is_permitted(self, name: str) -> bool:
        return ":" not in name or name in self._permitted or not self.is_user_part(name)

    def expect(self, name: str) -> None:
        """Raises where nobody knows this name. A part that does not come with gotta is not imported for it."""
        if not self.is_user_part(name):
            self.get(name)
        elif not self.is_permitted(name):
            raise self.refusal(name)

    def take(self, name: str) -> T:
        """What the caller names, which may be `module:Class`."""
        if ":" in name:
            self.permit(name)
        return self.get(name)

    def get(self, name: str) -> T:
        """What was registered under this name, or `module:Class` if the caller gave it before."""
        self._load_for(name)
        if name in self._plug_ins and name not in self._items:
            self._items[name] = self._load_plugin(self._plug_ins[name])
        if name in self._items:
            return self._items[name]
        if name in self._permitted:
            item = self._permitted[name]
            if item is None:
                item = self._permitted[name] = self._import(name)
            return item
        if ":" in name and self.is_kind is not None:
            raise self.refusal(name)
        raise unknown(self.kind, name, self.names())

    def refusal(self, name: str) -> GottaError:
        """The complaint about `module:Class` that stands in a file and was not given by the caller."""
        why = "is code that is not registered, so it was not imported"
        return GottaError(f"{self.kind} '{name}' {why}. If you trust it, name it yourself in the call or the command.")

    def module_of(self, name: str) -> str:
        """The module that a thing is from. Nothing of the user's is imported for that."""
        module, colon, _ = name.partition(":")
        if colon:
            return module
        self._load_for(name)
        if name in self._plug_ins:
            return self._plug_ins[name].module
        item = self.get(name)
        return str(getattr(item, "__module__", None) or type(item).__module__)

    def build(self, name: str, **arguments: Any) -> Any:
        """Call the registered thing after checking the argument names against its signature."""
        item = self.get(name)
        assert callable(item)
        self.check_arguments(name, arguments)
        return build_part(self.kind, item, **arguments) if ":" in name else item(**arguments)

    def check_arguments(self, name: str, arguments: dict[str, Any]) -> None:
        parameters = inspect.signature(self.get(name)).parameters  # type: ignore[arg-type]
        if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            return
        for argument in arguments:
            if argument not in parameters:
                raise unknown(f"argument of {self.kind} '{name}'", argument, parameters)

    def accepts(self, found: Any) -> bool:
        """Whether something of the caller's is one of these things; it is not called to find out."""
        return isinstance(found, type) and self.is_kind is not None and self.is_kind(found)

    def _import(self, name: str) -> T:
        """The class that is meant, known to be of this kind before anybody calls it."""
        if self.is_kind is None:
            raise unknown(self.kind, name, self.names())
        found = import_named(self.kind, name)
        if not self.accepts(found):
            raise GottaError(f"{self.kind} '{name}' is {what_is(found)} and was not called. Expected {self.expected}.")
        return self._usable(found)

    def _usable(self, found: Any) -> T:
        return found  # type: ignore[no-any-return]

    def _load_for(self, name: str) -> None:
        """Load what this name needs: most things are in a file of their name, and the others need not be imported."""
        if not isinstance(name, str):  # in a file of anybody's
            raise unknown(self.kind, name, self.names())
        if name not in self._items and not self._loaded and name.isidentifier():
            module = f"{self.package}.{name}"
            if importlib.util.find_spec(module) is not None:
                importlib.import_module(module)
        if name not in self._items:
            self._load()

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True  # at once: a module may look something up while it is imported
        try:
            package = importlib.import_module(self.package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self.package}.{module.name}")
            points = entry_points(group=f"gotta_tta.{self.kind.replace(' ', '')}")
            self._plug_ins = {point.name: point for point in points if point.name not in self._items}
        except BaseException:
            self._loaded = False  # else the next look-up would miss what was not imported
            raise

    def _load_plugin(self, point: EntryPoint) -> T:
        what = f"the plug-in {self.kind} '{point.name}' ({point.value})"
        found = _load(what, point.load, "Repair or uninstall its package.")
        wrong_class = isinstance(found, type) and self.is_kind is not None and not self.accepts(found)
        if wrong_class or not callable(found):
            expected = self.expected or "something to call"
            raise GottaError(f"{what} is of another kind and was not called. Expected {expected}.")
        return self._usable(found)


class Functions(Registry[Callable[..., T]], Generic[T]):
    """The known functions of one kind. One of the caller's is `module:function`, or a class of objects to be called."""

    def __init__(self, kind: str, package: str, parameter: str) -> None:
        super().__init__(kind, package, callable, f"a function with the argument {parameter}")
        self.parameter = parameter

    def accepts(self, found: Any) -> bool:
        """A function that names what it is given, so that none that was meant for something else is called."""
        try:
            called = inspect.signature(found.__call__ if isinstance(found, type) else found).parameters
        except (TypeError, ValueError, AttributeError):
            return False
        return self.parameter in called and (inspect.isfunction(found) or isinstance(found, type))

    def _usable(self, found: Any) -> Callable[..., T]:
        return build_part(self.kind, found) if isinstance(found, type) else found  # type: ignore[no-any-return]


def import_named(kind: str, name: str) -> Any:
    """What `module:name` names, imported and not called."""
    module, _, attribute = name.partition(":")
    way_out = "Expected module:Class, importable from here."
    return _load(f"{kind} '{name}'", lambda: getattr(importlib.import_module(module), attribute), way_out)


def _load(what: str, load: Callable[[], Any], way_out: str) -> Any:
    try:
        return load()
    except (Exception, SystemExit) as error:  # whatever code of somebody else's raises
        raise GottaError(f"{what} cannot be imported: {type(error).__name__}: {error}. {way_out}") from error


def about(part: Any) -> str:
    """Its docstring, without the example at the end."""
    return (inspect.getdoc(part) or "").partition("\n>>> ")[0].strip()


def what_is(found: Any) -> str:
    return "a class of another kind" if isinstance(found, type) else f"a {type(found).__name__}"


def build_part(kind: str, found: Callable[..., T], **arguments: Any) -> T:
    """Call what somebody else wrote; whatever goes wrong is one message."""
    try:
        return found(**arguments)
    except GottaError:
        raise
    except (Exception, SystemExit) as error:
        name = getattr(found, "__name__", repr(found))
        way_out = " Give the arguments that it takes." if isinstance(error, TypeError) else ""
        raise GottaError(f"{kind} '{name}' cannot be built: {type(error).__name__}: {error}.{way_out}") from error


def has_method(name: str, *arguments: str) -> Callable[[type], bool]:
    """A test for classes: do their objects have this method, and can it be called with so many arguments?"""

    def test(cls: type) -> bool:
        try:
            inspect.signature(getattr(cls, name)).bind(None, *arguments)
        except (AttributeError, TypeError, ValueError):
            return False
        return True

    return test
