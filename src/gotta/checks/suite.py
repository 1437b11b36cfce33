"""What every suite of checks is: properties that are tried on random cases, reporting a simple one that fails.

A case is a dataclass whose types say what its fields may be (`gotta.limits`), the simplest first; a property is a
function of a part and a case that raises where the part breaks it.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar, get_args, get_origin

import numpy as np
import torch
from torch import Tensor

from gotta.errors import GottaError
from gotta.limits import kinds_of
from gotta.registry import Registry

Subject = TypeVar("Subject")
Case = TypeVar("Case")
Holds = Callable[[Subject, Case], None]


class Refused(Exception):
    """A part may say of a case that it is not for it; then there is nothing to see."""


@dataclass(frozen=True)
class Result:
    """One property: whether it held in every case, and if not, in which one it failed and how."""

    property: str
    passed: bool
    message: str = ""


@dataclass(frozen=True)
class Report:
    """All properties of one part."""

    kind: str
    name: str
    results: tuple[Result, ...]

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if not result.passed)

    def __str__(self) -> str:
        held = len(self.results) - len(self.failures)
        lines = [f"{self.kind} {self.name}: {held} of {len(self.results)} properties hold"]
        for result in self.results:
            lines.append(f"  {'ok  ' if result.passed else 'FAIL'}  {result.property}")
            lines += [f"        {line}" for line in result.message.splitlines()]
        return "\n".join(lines)


class Suite(Generic[Subject, Case]):
    """The properties of one kind of part, by their titles.

    `find` makes of what the caller names, and its arguments, the part to try; it raises where the caller is mistaken.
    """

    def __init__(
        self, known: Registry[Any], case: type[Case], find: Callable[[Any, dict[str, Any]], Subject], examples: int
    ) -> None:
        self.known, self.kind, self.case, self.find, self.examples = known, known.kind, case, find, examples
        self.properties: dict[str, Holds[Subject, Case]] = {}

    def named(self, title: str) -> Callable[[Holds[Subject, Case]], Holds[Subject, Case]]:
        def keep(holds: Holds[Subject, Case]) -> Holds[Subject, Case]:
            self.properties[title] = holds
            return holds

        return keep

    def run(
        self,
        part: Any,
        *,
        examples: int | None = None,
        seed: int = 0,
        settings: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Report:
        """Check a part: a registered name, `module:Class`, a class, or a finished object. A bad one does not raise.

        `settings` and `more` are its arguments.
        """
        name = str(getattr(part, "__name__", part))
        subject = self.find(part, {**(settings or {}), **more})
        return Report(self.kind, name, tuple(self.try_all(subject, name, examples or self.examples, seed)))

    def check(self, part: Any, **options: Any) -> None:
        """The same for use in a test: raises AssertionError with the report unless every property holds."""
        report = self.run(part, **options)
        assert report.passed, str(report)

    def try_all(self, subject: Subject, name: str, examples: int, seed: int) -> list[Result]:
        return [self._try(title, holds, subject, examples, seed) for title, holds in self.properties.items()]

    def _try(self, title: str, holds: Holds[Subject, Case], subject: Subject, examples: int, seed: int) -> Result:
        """Try a property on random cases; report one on which it fails, as simple as can be found."""
        rng = np.random.default_rng(seed)
        for _ in range(examples):
            case = draw(self.case, rng)
            if message := fails(holds, subject, case):
                break
        else:
            return Result(title, True)
        for name, (simplest, *_) in values_of(self.case).items():
            simpler: Case = replace(case, **{name: simplest})  # type: ignore[type-var]
            if said := fails(holds, subject, simpler):
                case, message = simpler, said
        return Result(title, False, message)


def fails(holds: Holds[Subject, Case], subject: Subject, case: Case) -> str:
    """How a property fails on a case, which is nothing where it holds."""
    try:
        holds(subject, case)
    except Refused:
        return ""
    except (Exception, SystemExit) as error:  # whatever a part of the caller's own raises
        return f"{case}\n{type(error).__name__}: {error}"
    return ""


def draw(case: type[Case], rng: np.random.Generator) -> Case:
    """A case whose fields are drawn from what their types allow; every fourth of them is the simplest or the last."""
    drawn = {
        name: values[rng.choice([0, -1, *rng.integers(len(values), size=6)])]
        for name, values in values_of(case).items()
    }
    return case(**drawn)


def values_of(case: type[Case]) -> dict[str, Sequence[Any]]:
    """By field: what its type allows, the simplest first."""
    found = {name: (get_origin(kind), get_args(kind)) for name, kind in kinds_of(case).items()}
    return {
        name: choices if origin is Literal else range(int(choices[1].least), int(choices[1].most) + 1)
        for name, (origin, choices) in found.items()
    }


def take_part(known: Registry[Any], part: Any, arguments: dict[str, Any]) -> Any:
    """The class that the caller names, which takes these arguments, or the class or finished object given."""
    found = known.take(part) if isinstance(part, str) else part
    if not known.accepts(found if isinstance(found, type) else type(found)):
        raise GottaError(f"{part!r} cannot be checked as {known.kind}. Expected {known.expected}.")
    if isinstance(part, str):
        known.check_arguments(part, arguments)
    return found


def same(expected: Any, got: Any, message: str) -> None:
    """Raises AssertionError unless two states are alike, bit for bit."""
    places = different(expected, got)
    assert not places, f"{message}: {', '.join(places[:4])}"


def different(expected: Any, got: Any) -> list[str]:
    """The paths at which two nested states differ."""
    a, b = flat(expected), flat(got)
    alike = {path for path in a.keys() & b.keys() if _equal(a[path], b[path])}
    return sorted((a.keys() | b.keys()) - alike)


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """Every leaf of a nested state, by its path; anything but dicts and lists of plain values is refused."""
    if isinstance(value, Mapping | list):
        parts = value.items() if isinstance(value, Mapping) else enumerate(value)
        return {k: v for key, inner in parts for k, v in flat(inner, f"{path}/{key}").items()}
    assert value is None or isinstance(value, Tensor | int | float | bool | str), f"{path} is a {type(value).__name__}"
    return {path: value}


def _equal(a: Any, b: Any) -> bool:
    return torch.equal(a, b) if isinstance(a, Tensor) and isinstance(b, Tensor) else bool(type(a) is type(b) and a == b)


@contextmanager
def no_global_randomness() -> Iterator[None]:
    """Raises AssertionError if what is done inside draws from a generator that everybody shares."""
    states = random.getstate(), repr(np.random.get_state()), torch.get_rng_state()  # noqa: NPY002
    yield
    assert random.getstate() == states[0], "Python's global generator was used"
    assert repr(np.random.get_state()) == states[1], "NumPy's global generator was used"  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), states[2]), "torch's global generator was used"
