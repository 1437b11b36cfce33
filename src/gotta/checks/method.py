"""What any method must satisfy, with any memory, on small networks: `run("my_module:MyMethod")` gives a report."""

import inspect
from collections.abc import Mapping
from typing import Any

from gotta.checks.findings import Report
from gotta.checks.method_cases import KINDS, Case, draw, size
from gotta.checks.method_properties import PROPERTIES, Subject
from gotta.checks.suite import Refused, raise_unless_passed
from gotta.errors import GottaError
from gotta.methods import Method, methods

EXAMPLES = 6


def run(
    method: str | type[Method],
    *,
    examples: int = EXAMPLES,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    **more: Any,
) -> Report:
    """Check a method: a registered name, `module:Class` or a class. A bad one does not raise.

    `settings` and `more` are its hyper-parameters.
    """
    arguments = {**(settings or {}), **more}
    cls = methods.take(method) if isinstance(method, str) else method
    if not (inspect.isclass(cls) and issubclass(cls, Method)):
        raise GottaError(f"{method!r} is not a method. Expected a subclass of gotta.methods.Method.")
    name = method if isinstance(method, str) else cls.__name__
    if isinstance(method, str):
        methods.check_arguments(method, arguments)
    subject = Subject(cls, arguments)
    _find_network(subject, name)
    return Report("method", name, tuple(PROPERTIES.check(subject, draw, size, examples, seed)))


def check(method: str | type[Method], **options: Any) -> None:
    """The same for use in a test: raises AssertionError with the report unless every property holds."""
    raise_unless_passed(run(method, **options))


def _find_network(subject: Subject, name: str) -> None:
    """A method may refuse networks, but not all: there would be nothing to check."""
    refusals = []
    for norm in KINDS:
        try:
            subject.build(Case(norm, "none", 4, 3, 2, 4, 0))
            return
        except Refused as error:
            refusals.append(str(error))
        except (Exception, SystemExit) as error:  # whatever a method of the caller's own raises
            raise GottaError(f"method '{name}' cannot be built: {type(error).__name__}: {error}.") from error
    raise GottaError(f"method '{name}' takes none of the networks it is checked on: {refusals[0]}")
