"""What any statistics must satisfy, with methods that train and that do not: `run("my_module:MyStatistics")`."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import torch

from gotta.checks.findings import Report
from gotta.checks.method_cases import Case, draw, size
from gotta.checks.method_properties import PROPERTIES as OF_METHODS
from gotta.checks.method_properties import Subject as MethodSubject
from gotta.checks.method_properties import same
from gotta.checks.suite import Properties, raise_unless_passed
from gotta.core.adapted import Adapted
from gotta.errors import GottaError
from gotta.methods import Method, methods
from gotta.statistics import Statistics, statistics

EXAMPLES = 6


class Subject(MethodSubject):
    """The statistics under test, in the empty method or in one that trains."""

    def __init__(self, made: Statistics) -> None:
        super().__init__(Method, {})
        self.made = made

    def build(self, case: Case, seed: int = 0) -> Adapted:
        trains = case.seed % 2 and not self.made.keeps_moments  # which methods that train refuse
        self._cls = methods.get("tent") if trains else Method
        return super().build(case, seed)

    def choose(self, has_memory: bool) -> Statistics:
        return self.made


PROPERTIES: Properties[Subject, Case] = Properties()
named = PROPERTIES.named


@named("a network that is lent them gets its own back, and its modes, even if the forward fails")
def gives_back(subject: Subject, case: Case) -> None:
    method = subject.build(case).method
    net, lent = method.model, method.statistics
    x, before = case.stream()[0], {name: value.clone() for name, value in method.model.state_dict().items()}
    modes = [module.training for module in net.modules()]
    ways = [
        (lent.predicting(net, moving=False),),
        (lent.training(net, moving=False),),
        (lent.predicting(net, moving=False), lent.watching(net)),
    ]
    for way in ways:
        try:
            with ExitStack() as stack, torch.no_grad():
                for mode in way:
                    stack.enter_context(mode)
                net(x)
                raise KeyError
        except KeyError:
            pass
        same(before, dict(net.state_dict()), "a network did not get back")
        assert [module.training for module in net.modules()] == modes, "a network was left in another mode"


def run(
    part: Any, *, examples: int = EXAMPLES, seed: int = 0, settings: Mapping[str, Any] | None = None, **more: Any
) -> Report:
    """Check statistics: a registered name, `module:Class`, a class, or a finished object. Bad ones do not raise.

    `settings` and `more` are their arguments.
    """
    arguments = {**(settings or {}), **more}
    found = statistics.take(part) if isinstance(part, str) else part
    if isinstance(part, str):
        statistics.check_arguments(part, arguments)
    made = found(**arguments) if isinstance(found, type) and issubclass(found, Statistics) else found
    if not isinstance(made, Statistics):
        raise GottaError(f"{part!r} are not statistics. Expected {statistics.expected}.")
    name = part if isinstance(part, str) else getattr(part, "__name__", repr(part))
    subject = Subject(made)
    results = [
        *PROPERTIES.check(subject, draw, size, examples, seed),
        *OF_METHODS.check(subject, draw, size, examples, seed),
    ]
    return Report("statistics", name, tuple(results))


def check(part: Any, **options: Any) -> None:
    """The same for use in a test: raises AssertionError with the report unless every property holds."""
    raise_unless_passed(run(part, **options))
