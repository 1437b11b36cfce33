"""A method's settings: a named preset, changed by arguments, and the oddities of published code one may ask for."""

from collections.abc import Iterable, Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any

from gotta.errors import GottaError, check_known, unknown
from gotta.limits import Count, NotNegative, require

if TYPE_CHECKING:
    from gotta.methods.method import Method

Values = dict[str, Any]
Presets = Mapping[str, Mapping[str, Any]]
Texts = dict[str, str]


class Preset(Values):
    """Hyper-parameters by name, and whose values they are."""

    def __init__(self, origin: str, **values: Any) -> None:
        super().__init__(values)
        self.origin = origin

    def but(self, origin: str = "", **changes: Any) -> "Preset":
        """The same with other values, of somebody else if that is said."""
        return Preset(origin or self.origin, **{**self, **changes})


def preset_of(cls: type["Method"], preset: str) -> Values:
    """Every setting of a preset. What it does not name is as in `official`."""
    check_known(f"preset of method '{cls.name}'", preset, [*cls.presets])
    return {**cls.presets["official"], **cls.presets[preset]}


def hyper_parameters(cls: type["Method"], preset: str = "official", given: Mapping[str, Any] | None = None) -> Values:
    """The preset's values with the given ones in their place."""
    chosen = {name: value for name, value in preset_of(cls, preset).items() if name != "statistics"}
    known = {**chosen, **dict.fromkeys(cls.inputs)}
    for name, value in (given or {}).items():
        check_known(f"argument of method '{cls.name}'", name, known)
        if name in chosen:
            _check(name, value, chosen[name])
        if name in cls.choices:
            check_known(name, value, [*cls.choices[name]])
        known[name] = value
    return known


def choose_quirks(cls: type["Method"], quirks: str | Iterable[str] | None) -> frozenset[str]:
    """The names asked for; `published` stands for all that the method has."""
    if quirks == "published":
        return frozenset(cls.known_quirks)
    several = not isinstance(quirks, str) and isinstance(quirks or (), Iterable)
    names: list[Any] = list(quirks or ()) if several else [quirks]
    for name in names:
        if name not in [*cls.known_quirks]:
            raise unknown(f"quirk of method '{cls.name}'", name, [*cls.known_quirks, "published"])
    return frozenset(names)


def choose_reset_every(method: "Method", given: Any) -> int | None:
    """So many adaptations between two returns to the source; a method that never adapts has none to count."""
    every = method.native_reset_every if given is None else given
    require("reset_every", every, Count | None)
    if every is not None and not method.adapts:
        raise GottaError(f"reset_every has no effect with method '{method.name}', which never adapts.")
    return None if every is None else int(every)


def _check(name: str, value: Any, usual: Any) -> None:
    """One clear message instead of a strange number later."""
    if isinstance(usual, str) and not isinstance(value, str):
        raise GottaError(f"{name} must be a name, such as {usual!r} (got {value!r}).")
    kinds: dict[type, Any] = {bool: bool, int: Count, float: NotNegative, NoneType: NotNegative | None}
    require(name, value, kinds.get(type(usual)))
