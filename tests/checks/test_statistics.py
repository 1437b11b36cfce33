"""The suite for statistics: all that come with gotta pass, and it catches those that break a property."""

from contextlib import contextmanager
from typing import ClassVar

import pytest

from gotta import GottaError
from gotta.checks.statistics import check, run
from gotta.statistics import Running, Statistics, statistics, tracked_norms


@pytest.mark.parametrize("name", statistics.names())
def test_all_statistics_pass(name):
    check(name, examples=3)


def test_finished_ones_and_arguments_are_checked_too():
    check(Running(rate=0.5), examples=2)
    with pytest.raises(GottaError, match="argument of statistics 'batch' 'rate' is unknown"):
        run("batch", rate=0.1)
    with pytest.raises(GottaError, match="cannot be checked as statistics"):
        run(dict)


class Forgetful(Statistics):
    """Leaves the layers in another mode."""

    @contextmanager
    def predicting(self, net, moving=True):
        for layer in tracked_norms(net):
            layer.training = True
        yield


class Busy(Statistics):
    """Counts every prediction, looked at or not."""

    count = 0
    state: ClassVar = {"count": int}

    @contextmanager
    def predicting(self, net, moving=True):
        self.count += 1
        yield


@pytest.mark.parametrize(
    ("kind", "property"), [(Forgetful, "gets its own back"), (Busy, "a prediction changes nothing")]
)
def test_bad_ones_are_told(kind, property):
    broken = [result.property for result in run(kind, examples=4).results if not result.passed]
    assert any(property in title for title in broken), broken
