"""How properties are tried: on random cases, reporting the smallest one that fails."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import numpy as np
import torch

from gotta.checks.findings import Report, Result

SHRINK_ATTEMPTS = 10
Subject = TypeVar("Subject")
Case = TypeVar("Case")
Pick = Callable[[int, int], int]  # a whole number between two bounds


class Refused(Exception):
    """A part may say of a case that it is not for it; then there is nothing to see."""


class Properties(Generic[Subject, Case]):
    """The properties of one kind of part: functions that raise where a part breaks them, by their titles."""

    def __init__(self) -> None:
        self._held: dict[str, Callable[[Subject, Case], None]] = {}

    def named(self, title: str) -> Callable[[Callable[[Subject, Case], None]], Callable[[Subject, Case], None]]:
        def keep(holds: Callable[[Subject, Case], None]) -> Callable[[Subject, Case], None]:
            self._held[title] = holds
            return holds

        return keep

    def check(
        self,
        subject: Subject,
        draw: Callable[[Pick], Case],
        size: Callable[[Case], Any],
        examples: int,
        seed: int,
    ) -> list[Result]:
        """Try each on random cases."""
        return [
            check_one(title, lambda case, holds=holds: holds(subject, case), draw, size, examples, seed)  # type: ignore[misc]
            for title, holds in self._held.items()
        ]


def raise_unless_passed(report: Report) -> None:
    """For use in a test."""
    if not report.passed:
        raise AssertionError(str(report))


@contextmanager
def no_global_randomness() -> Iterator[None]:
    """Raises AssertionError if what is done inside draws from a generator that everybody shares."""
    states = random.getstate(), repr(np.random.get_state()), torch.get_rng_state()  # noqa: NPY002
    yield
    assert random.getstate() == states[0], "Python's global generator was used"
    assert repr(np.random.get_state()) == states[1], "NumPy's global generator was used"  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), states[2]), "torch's global generator was used"


def check_one(
    title: str,
    holds: Callable[[Case], None],
    draw: Callable[[Pick], Case],
    size: Callable[[Case], Any],
    examples: int,
    seed: int,
) -> Result:
    """Try a property on random cases; report the smallest on which it fails."""
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
