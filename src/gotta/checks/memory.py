"""What any memory policy must satisfy, on random streams: `run("my_module:MyPolicy")` gives a report.

The streams are drawn by hypothesis where it is installed (it shrinks a failure to a small one), else by a seeded
generator.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gotta.checks.memory_cases import Case, draw
from gotta.checks.memory_properties import PROPERTIES, Subject

SHRINK_ATTEMPTS = 10


@dataclass(frozen=True)
class Result:
    """One property: whether it held on every stream, and if not, on which one it failed and how."""

    property: str
    passed: bool
    message: str = ""


@dataclass(frozen=True)
class Report:
    """All properties of one policy."""

    name: str
    results: tuple[Result, ...]

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.results)

    @property
    def failures(self) -> tuple[Result, ...]:
        return tuple(result for result in self.results if not result.passed)

    def __str__(self) -> str:
        lines = [f"memory {self.name}: {len(self.results) - len(self.failures)} of {len(self.results)} properties hold"]
        for result in self.results:
            lines.append(f"  {'ok  ' if result.passed else 'FAIL'}  {result.property}")
            lines += [f"        {line}" for line in result.message.splitlines()]
        return "\n".join(lines)


def run(policy: Any, *, examples: int = 30, seed: int = 0, **arguments: Any) -> Report:
    """Check a policy: a registered name, `module:Class`, a class, or a finished policy. A bad one does not raise."""
    name = policy if isinstance(policy, str) else getattr(policy, "__name__", repr(policy))
    subject = Subject(policy, arguments)
    subject.build()  # an unknown name or wrong arguments are a mistake of the caller, not of the policy
    results = [check_one(title, holds, subject, examples, seed) for title, holds in PROPERTIES.items()]
    return Report(name, tuple(results))


def check(policy: Any, **options: Any) -> None:
    """The same for use in a test: raises AssertionError with the report unless every property holds."""
    report = run(policy, **options)
    if not report.passed:
        raise AssertionError(str(report))


def check_one(title: str, holds: Callable[[Subject, Case], None], subject: Subject, examples: int, seed: int) -> Result:
    found: dict[Case, str] = {}
    tried_since = 0

    def attempt(case: Case) -> None:
        """Raises where the property fails, so that a smaller case is tried next, until enough of those were tried."""
        nonlocal tried_since
        tried_since += bool(found)
        if tried_since > SHRINK_ATTEMPTS:
            return
        try:
            holds(subject, case)
        except Exception as error:
            found[case] = f"{case}\n{type(error).__name__}: {error}"
            raise

    try:
        for_all_cases(attempt, examples, seed)
    except Exception:
        if not found:
            raise
    if not found:
        return Result(title, True)
    smallest = min(found, key=lambda case: (case.batches * case.batch_size, case.capacity, case.num_classes, case.seed))
    return Result(title, False, found[smallest])


def for_all_cases(attempt: Callable[[Case], None], examples: int, seed: int) -> None:
    """Try random cases until one raises."""
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
        "derandomize": True,
        "report_multiple_bugs": False,
        "print_blob": False,
        "suppress_health_check": list(hypothesis.HealthCheck),
        "phases": [hypothesis.Phase.generate, hypothesis.Phase.shrink],
    }
    hypothesis.settings(**options)(hypothesis.given(cases)(attempt))()
