"""What settings may be, said once in their types: `Literal["a", "b"]`, `bool`, `Annotated[int, Within(1)]`.

With `| None` a setting may be left open. What is none of these is not looked at.
"""

from dataclasses import dataclass, fields
from math import inf, isfinite
from numbers import Integral, Real
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from gotta.errors import GottaError, unknown


@dataclass(frozen=True)
class Within:
    """Numbers from `least` to `most`: `above` the one and `below` the other, if it says so."""

    least: float = -inf
    most: float = inf
    above: bool = False
    below: bool = False

    def has(self, value: float) -> bool:
        low = self.least < value if self.above else self.least <= value
        return low and (value < self.most if self.below else value <= self.most)

    def __str__(self) -> str:
        low = "" if self.least == -inf else f" {'above' if self.above else 'of at least'} {self.least:g}"
        return low if self.most == inf else f"{low} and {'below' if self.below else 'at most'} {self.most:,.12g}"


Count = Annotated[int, Within(1)]
Positive = Annotated[float, Within(0, above=True)]
NotNegative = Annotated[float, Within(0)]
Share = Annotated[float, Within(0, 1, above=True)]


def find_mistakes(record: Any) -> list[str]:
    """What is wrong with the fields of a dataclass, each in a sentence."""
    kinds = kinds_of(type(record))
    told = (find_mistake(name, getattr(record, name), kind) for name, kind in kinds.items())
    return [sentence for sentence in told if sentence]


def check_fields(record: Any) -> None:
    """Raises unless each field of a dataclass is what its type says."""
    if wrong := find_mistakes(record):
        raise GottaError("\n".join(wrong))


def require(name: str, value: Any, kind: Any) -> None:
    """Raises unless the value is of this kind.

    >>> require("epochs", 0, Count)
    Traceback (most recent call last):
    ...
    gotta.errors.GottaError: epochs must be a whole number of at least 1 (got 0).
    """
    if wrong := find_mistake(name, value, kind):
        raise GottaError(wrong)


def find_mistake(name: str, value: Any, kind: Any) -> str:
    """What is wrong with a value, in a sentence; nothing if it is of this kind."""
    choices = get_args(kind)
    if get_origin(kind) is Literal:
        return "" if value in choices else str(unknown(name, value, choices))
    if NoneType in choices:
        return "" if value is None else find_mistake(name, value, choices[0])
    base, within = choices[:2] if get_origin(kind) is Annotated else (kind, Within())
    if base is bool:
        right, expected = isinstance(value, bool), "true or false"
    elif base in (int, float):
        numbers = Integral if base is int else Real
        number = not isinstance(value, bool) and isinstance(value, numbers) and isfinite(value)
        right, expected = number and within.has(value), f"a {'whole ' if base is int else ''}number{within}"
    else:
        return ""
    return "" if right else f"{name} must be {expected} (got {value!r:.80})."


def kinds_of(cls: type[Any]) -> dict[str, Any]:
    """The type of each field of a dataclass."""
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: hints[field.name] for field in fields(cls)}
