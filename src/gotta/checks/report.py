"""What a suite found, and how it looks: properties, and for each the smallest case on which it failed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

SHRINK_ATTEMPTS = 10
Case = TypeVar("Case")
Pick = Callable[[int, int], int]  # a whole number between two bounds


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
        return all(result.passed for result in self.results)

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


def raise_unless_passed(report: Report) -> None:
    """For use in a test."""
    if not report.passed:
        raise AssertionError(str(report))


def check_one(
    title: str,
    holds: Callable[[Case], None],
    draw: Callable[[Pick], Case],
    size: Callable[[Case], Any],
    examples: int,
    seed: int,
) -> Result:
    """Try a property on random cases; of those on which it fails, the smallest is told."""
    found: dict[Case, str] = {}
    tried_since = 0

    def attempt(case: Case) -> None:
        """Raises where the property fails, so that a smaller case is tried next, until enough of those were tried."""
        nonlocal tried_since
        tried_since += bool(found)
        if tried_since > SHRINK_ATTEMPTS:
            return
        try:
            holds(case)
        except Refused:
            return
        except (Exception, SystemExit) as error:  # whatever a part of the caller's own raises
            found[case] = f"{case}\n{type(error).__name__}: {error}"
            raise AssertionError from error

    try:
        for_all_cases(attempt, draw, examples, seed)
    except Exception:
        if not found:
            raise
    if not found:
        return Result(title, True)
    return Result(title, False, found[min(found, key=size)])


def for_all_cases(attempt: Callable[[Case], None], draw: Callable[[Pick], Case], examples: int, seed: int) -> None:
    """Try random cases until one raises: drawn by hypothesis where it is installed, else by a seeded generator."""
    try:
        import hypothesis
    except ImportError:
        rng = np.random.default_rng(seed)
        for _ in range(examples):
            attempt(draw(lambda low, high: int(rng.integers(low, high + 1))))
        return
    strategies = hypothesis.strategies
    cases = strategies.composite(lambda pick: draw(lambda low, high: pick(strategies.integers(low, high))))()
    options: dict[str, Any] = {
        "max_examples": examples,
        "deadline": None,
        "database": None,
        "derandomize": seed == 0,
        "report_multiple_bugs": False,
        "print_blob": False,
        "suppress_health_check": list(hypothesis.HealthCheck),
        "phases": [hypothesis.Phase.generate, hypothesis.Phase.shrink],
    }
    test = hypothesis.settings(**options)(hypothesis.given(cases)(attempt))
    (hypothesis.seed(seed)(test) if seed else test)()
