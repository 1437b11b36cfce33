"""What any order or schedule of a stream must satisfy: `run("order", "my_module:my_order")` gives a report.

An order is a function of `labels` that gives the positions in which they arrive; a schedule is a function of `names`,
those of the domains, that gives the pools that are visited. Both may ask for fields of `StreamSpec`, and an order for
`rng` and `num_classes`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gotta.checks.findings import Report, Result
from gotta.checks.stream_cases import draw, size
from gotta.checks.stream_properties import PROPERTIES, Subject, fingerprint_elsewhere, fingerprint_of
from gotta.checks.suite import raise_unless_passed
from gotta.errors import GottaError, unknown
from gotta.json_yaml import parse_yaml
from gotta.registry import Functions
from gotta.streams import ORDERS, SCHEDULES

EXAMPLES = 40
KINDS: dict[str, Functions[Any]] = {"order": ORDERS, "schedule": SCHEDULES}
ELSEWHERE = "the same in another process"


def run(
    kind: str,
    part: str | Callable[..., Any],
    *,
    examples: int = EXAMPLES,
    seed: int = 0,
    elsewhere: bool = True,
    settings: Mapping[str, Any] | None = None,
    **more: Any,
) -> Report:
    """Check an order or a schedule: a registered name, `module:function`, or the function. A bad one does not raise.

    `settings` and `more` are fields of `StreamSpec`. One that has a name is also tried `elsewhere`, in another process.
    """
    subject = _subject(kind, part, {**(settings or {}), **more})
    name = part if isinstance(part, str) else str(getattr(part, "__name__", part))
    results = PROPERTIES[kind].check(subject, draw, size, examples, seed)
    if not subject.served and all(result.passed for result in results):
        raise GottaError(f"{kind} '{name}' refuses everything it is checked on: {subject.refusal}")
    if elsewhere and subject.name is not None and results[0].passed:
        results.append(_compare_elsewhere(subject))
    return Report(kind, name, tuple(results))


def check(kind: str, part: str | Callable[..., Any], **options: Any) -> None:
    """The same for use in a test: raises AssertionError with the report unless every property holds."""
    raise_unless_passed(run(kind, part, **options))


def fingerprint(kind: str, name: str, *settings: str) -> str:
    """What another process is asked for."""
    given = {key: parse_yaml(value) for key, _, value in (setting.partition("=") for setting in settings)}
    return fingerprint_of(_subject(kind, name, given))


def _subject(kind: str, part: str | Callable[..., Any], settings: dict[str, Any]) -> Subject:
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    if isinstance(part, str):
        return Subject(kind, part, KINDS[kind].take(part), settings)
    if not callable(part):
        raise GottaError(f"{part!r} cannot be checked as {kind}. Expected {KINDS[kind].expected}.")
    return Subject(kind, None, part, settings)


def _compare_elsewhere(subject: Subject) -> Result:
    here, there = fingerprint_of(subject), fingerprint_elsewhere(subject)
    message = "" if here == there else f"another process gives other results, or ends: {there}"
    return Result(ELSEWHERE, here == there, message)
