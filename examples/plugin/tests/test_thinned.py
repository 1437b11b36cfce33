"""First what every memory must keep, then an example whose answer one can see."""

import numpy as np
import pytest
from gotta_thinned.thinned import Thinned

from gotta import GottaError, Memory
from gotta.checks.memory import run


@pytest.mark.parametrize("every", [1, 3])
def test_it_keeps_the_rules_of_every_memory(every):
    report = run(Thinned, every=every)
    assert report.passed, str(report)


def test_every_second_sample_is_stored_and_the_oldest_leaves():
    memory = Memory(Thinned(every=2), capacity=2, num_classes=10)
    slots = memory.observe(np.arange(5.0), label=[0, 1, 2, 3, 4])
    assert slots.tolist() == [0, -1, 1, -1, 0]
    assert sorted(memory.batch().x.tolist()) == [2.0, 4.0]


def test_a_step_of_nothing_is_refused():
    with pytest.raises(GottaError, match="at least 1"):
        Thinned(every=0)
