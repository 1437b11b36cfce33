"""State, declared once by whoever owns it: undoing, saving, loading and resetting follow from the declaration.

`state` names the attributes that are an owner's state, each with what reads it back from a file. They are exchanged as
a whole and never changed in place, so that a reference is as good as a copy. Whoever changes something in place, such
as the rows of a memory, adds to `record` how that is brought back.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from typing import Any, ClassVar

from torch import Tensor

__all__ = ["Sized", "count", "flag", "number", "optional", "tensor", "tensors"]

Back = Callable[[], object]  # brings back what was; may be called again
Reader = Callable[[Any], Any]  # a value of a file as the owner has it; raises ValueError where it is none


class Stateful:
    """An owner of state. `owns` are owners inside it, by name."""

    name: ClassVar[str]  # its class in lower case, unless it says otherwise
    state: ClassVar[Mapping[str, Reader]] = {}

    def __init_subclass__(cls) -> None:
        if "name" not in vars(cls):
            cls.name = cls.__name__.lower()

    def owns(self) -> Mapping[str, "Stateful"]:
        return {}

    def record(self) -> Back:
        """A call that brings back everything as it is now."""
        values, parts = values_of(self), [part.record() for part in self.owns().values()]

        def back() -> None:
            set_values(self, values)
            for part in parts:
                part()

        return back

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` goes on from; nothing in it is changed in place."""
        return {**values_of(self), **{name: part.state_dict() for name, part in self.owns().items()}}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        set_values(self, read_each(self.state, saved))
        for name, part in self.owns().items():
            part.load_state_dict(saved[name])


def values_of(owner: Any) -> dict[str, Any]:
    return {name: getattr(owner, name) for name in owner.state}


def set_values(owner: Any, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(owner, name, value)


@contextmanager
def temporarily(owner: Any, **values: Any) -> Iterator[None]:
    """Inside, these attributes of the owner have other values."""
    before = {name: getattr(owner, name) for name in values}
    try:
        set_values(owner, values)
        yield
    finally:
        set_values(owner, before)


def read_each(readers: Mapping[str, Reader], saved: Mapping[str, Any]) -> dict[str, Any]:
    """What a file says of attributes that are read so, checked."""
    found = {}
    for name, read in readers.items():
        try:
            found[name] = read(saved[name])
        except (KeyError, ValueError, TypeError) as error:
            raise ValueError(f"{name} is damaged ({error})") from None
    return found


def flag(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{value!r:.40} is not true or false")
    return value


def count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise ValueError(f"{value!r:.40} is not a count")
    return value


def number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{value!r:.40} is not a finite number")
    return value


def tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise ValueError(f"a {type(value).__name__} is not a tensor")
    return value


def tensors(value: Any) -> dict[str, Tensor]:
    return {str(name): tensor(part) for name, part in dict(value).items()}


def optional(read: Reader) -> Reader:
    return lambda value: None if value is None else read(value)


class Sized:
    """Reads a tensor of floating-point numbers, or None while there is none, whose sizes have names.

    Names are "classes", "features" and "sample", which may be several; any other stands for a size of its own.
    """

    def __init__(self, *sizes: str) -> None:
        self.sizes = sizes

    def __call__(self, value: Any) -> Tensor | None:
        found = None if value is None else tensor(value)
        if found is not None and not (found.is_floating_point() and found.numel() and found.isfinite().all()):
            raise ValueError(f"{found.dtype} of shape {list(found.shape)} is not a tensor of finite numbers")
        return found

    def check(self, name: str, value: Tensor | None, known: Mapping[str, tuple[int, ...]]) -> None:
        """Raises where a size is known, and is another one."""
        wanted = [size for word in self.sizes for size in known.get(word, (None,))]
        found = wanted if value is None else list(value.shape)
        if len(found) != len(wanted) or any(a not in (None, b) for a, b in zip(wanted, found, strict=True)):
            raise ValueError(f"{name} has shape {found}. Expected {' x '.join(self.sizes)}")
