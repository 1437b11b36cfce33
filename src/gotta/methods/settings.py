"""A method's settings: a named preset, changed by arguments, and the oddities of published code one may ask for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, get_args

from gotta.errors import GottaError, unknown

if TYPE_CHECKING:
    from gotta.methods.method import Method

Preset = dict[str, Any]
Presets = dict[str, Preset]
Texts = dict[str, str]


StatisticsName = Literal["source", "batch", "running", "class", "gated"]
STATISTICS: tuple[StatisticsName, ...] = get_args(StatisticsName)
BY_LEVEL = ("class", "gated")


@dataclass(frozen=True)
class Statistics:
    """Where the statistics that normalise a prediction come from.

    `source`: the source model's own. `batch`: those of the batch that is predicted. `running`: an average that starts
    at the source's and moves by `rate` with every forward of what `fed_by` names, the test batches or the memory's.
    `class`: levels that follow a change of domain at once and that the mix of classes does not move; `gated`: the same
    without the classes. These two are fed by the prediction's own forward and have no rate to choose.
    """

    source: StatisticsName = "source"
    fed_by: Literal["batch", "memory"] | None = None  # open: the memory, except for `class` and `gated`
    rate: float = 0.05

    def __post_init__(self) -> None:
        if self.source not in STATISTICS:
            raise unknown("statistics", self.source, STATISTICS)
        if self.fed_by not in ("batch", "memory", None):
            raise unknown("fed_by", self.fed_by, ("batch", "memory"))
        if self.by_level and self.fed_by == "memory":
            raise GottaError(
                f"statistics='{self.source}' is moved by the samples that are predicted, not by a memory. Leave fed_by "
                "out, or use statistics='running'."
            )
        if self.fed_by is None:
            object.__setattr__(self, "fed_by", "batch" if self.by_level else "memory")
        if not 0 < self.rate <= 1:
            raise GottaError(f"rate must be greater than 0 and at most 1 (got {self.rate}).")

    @property
    def by_level(self) -> bool:
        return self.source in BY_LEVEL


def preset_of(cls: type["Method"], preset: str) -> Preset:
    """Every setting of a preset. What it does not name is as in `official`."""
    if preset not in cls.presets:
        raise unknown(f"preset of method '{cls.__name__.lower()}'", preset, cls.presets)
    return {**cls.presets["official"], **cls.presets[preset]}


def hyper_parameters(cls: type["Method"], preset: str = "official", given: Mapping[str, Any] | None = None) -> Preset:
    """The preset's values with the given ones in their place."""
    chosen = {name: value for name, value in preset_of(cls, preset).items() if name != "statistics"}
    known = {**chosen, **dict.fromkeys(cls.inputs)}
    for name, value in (given or {}).items():
        if name not in known:
            raise unknown(f"argument of method '{cls.__name__.lower()}'", name, known)
        if name in chosen:
            _check(name, value, chosen[name])
        known[name] = value
    return known


def choose_quirks(cls: type["Method"], quirks: str | Iterable[str] | None) -> frozenset[str]:
    """The names asked for; `published` stands for all that the method has."""
    if quirks == "published":
        return frozenset(cls.known_quirks)
    names = [quirks] if isinstance(quirks, str) else list(quirks or ())
    for name in names:
        if name not in cls.known_quirks:
            raise unknown(f"quirk of method '{cls.__name__.lower()}'", name, [*cls.known_quirks, "published"])
    return frozenset(names)


def check_number_of_adaptations(every: Any) -> None:
    if every is not None and (isinstance(every, bool) or not isinstance(every, Integral) or int(every) < 1):
        raise GottaError(f"reset_every must be a whole number of at least 1 (got {every!r}).")


def check_reset_every(method: "Method", every: Any) -> int | None:
    """So many adaptations between two returns to the source; a method that never adapts has none to count."""
    check_number_of_adaptations(every)
    if every is None:
        return None
    if not method.adapts:
        raise GottaError(
            f"reset_every has no effect with method '{type(method).__name__.lower()}', which never adapts."
        )
    return int(every)


def _check(name: str, value: Any, usual: Any) -> None:
    """One clear message instead of a strange number later."""
    if isinstance(usual, bool | str):
        if not isinstance(value, type(usual)):
            raise GottaError(f"{name} must be of type {type(usual).__name__}, such as {usual!r} (got {value!r}).")
    elif usual is None and value is None:
        return
    elif isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value) or float(value) < 0:
        raise GottaError(f"{name}={value!r} is not usable. Expected a number of 0 or more.")
    elif isinstance(usual, int) and (not isinstance(value, Integral) or int(value) < 1):
        raise GottaError(f"{name} must be a whole number of at least 1 (got {value!r}).")
