from math import log

import numpy as np
import pytest
from memory.offers import ids

from gotta.memory import Memory
from gotta.memory.builtin.rbm import RBM


def test_rbm_evicts_the_oldest_of_the_class_largest_of_late() -> None:
    memory = Memory("rbm", 4, 2)
    memory.observe(np.arange(4), label=[0, 0, 0, 1], uncertainty=[0.0] * 4)
    memory.batch()
    assert memory.state_dict()["vector.moving_count"].tolist() == pytest.approx([0.3, 0.1])
    memory.peek()
    assert memory.state_dict()["vector.moving_count"].tolist() == pytest.approx([0.3, 0.1])
    memory.observe(np.arange(3), label=[1, 1, 0], uncertainty=[0.0, 0.0, 0.4])
    assert ids(memory) == [2, 3, 4, 5], "moving counts do not change between readings; 0.4 is above 0.5 ln 2"
    assert memory.stats["uncertain"] == 1


def test_defaults_of_rbm_are_its_authors() -> None:
    assert RBM() == RBM(alpha=0.5, momentum=0.9)


def test_a_sample_at_the_limit_of_rbm_stays_out() -> None:
    limit = 0.5 * log(10)
    memory = Memory("rbm", 4, 10)
    slots = memory.observe(np.arange(2), label=[0, 1], uncertainty=[limit, np.nextafter(limit, 0)])
    assert slots.tolist() == [-1, 0]
