"""What any memory policy must satisfy, on random streams: `run("my_module:MyPolicy")` gives a report.

The streams are drawn by hypothesis where it is installed (it shrinks a failure to a small one), else by a seeded
generator.
"""

from collections.abc import Mapping
from typing import Any

from gotta.checks.findings import Report, Result
from gotta.checks.memory_cases import Case, draw
from gotta.checks.memory_properties import PROPERTIES, Subject
from gotta.checks.suite import raise_unless_passed

EXAMPLES = 30

__all__ = ["Report", "Result", "check", "run"]


def run(
    policy: Any, *, examples: int = EXAMPLES, seed: int = 0, settings: Mapping[str, Any] | None = None, **more: Any
) -> Report:
    """Check a policy: a registered name, `module:Class`, a class, or a finished policy. A bad one does not raise.

    `settings` and `more` are its arguments.
    """
    name = policy if isinstance(policy, str) else getattr(policy, "__name__", repr(policy))
    subject = Subject(policy, {**(settings or {}), **more})
    subject.build()  # an unknown name or wrong arguments are a mistake of the caller, not of the policy
    return Report("memory", name, tuple(PROPERTIES.check(subject, draw, _size, examples, seed)))


def check(policy: Any, **options: Any) -> None:
    """The same for use in a test: raises AssertionError with the report unless every property holds."""
    raise_unless_passed(run(policy, **options))


def _size(case: Case) -> tuple[int, ...]:
    return case.batches * case.batch_size, case.capacity, case.num_classes, case.seed
