"""What any statistics must satisfy, with methods that train and that do not: `run("my_module:MyStatistics")`."""

from contextlib import ExitStack, suppress
from typing import Any

import torch

from gotta.checks.method import SUITE as OF_METHODS
from gotta.checks.method import Case
from gotta.checks.method import Subject as MethodSubject
from gotta.checks.suite import Suite, same, take_part
from gotta.methods import Method, methods
from gotta.statistics import Statistics, statistics

__all__ = ["check", "run"]


class Subject(MethodSubject):
    """The statistics under test, in the empty method or in one that trains."""

    def __init__(self, made: Statistics) -> None:
        super().__init__(Method, {})
        self.made = made

    def choose(self, case: Case, has_memory: bool) -> tuple[type[Method], Statistics]:
        trains = case.seed % 2 and not self.made.keeps_moments  # which methods that train refuse
        return methods.get("tent") if trains else Method, self.made


def find(part: Any, arguments: dict[str, Any]) -> Subject:
    found = take_part(statistics, part, arguments)
    return Subject(found(**arguments) if isinstance(found, type) else found)


SUITE = Suite(statistics, Case, find, examples=6)
named, run, check = SUITE.named, SUITE.run, SUITE.check


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
        with suppress(KeyError), ExitStack() as stack, torch.no_grad():
            for mode in way:
                stack.enter_context(mode)
            net(x)
            raise KeyError
        same(before, dict(net.state_dict()), "a network did not get back")
        assert [module.training for module in net.modules()] == modes, "a network was left in another mode"


for title, holds in OF_METHODS.properties.items():
    SUITE.named(title)(holds)
