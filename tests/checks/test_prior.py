"""The suite for priors: all that come with gotta pass, and each property catches one that breaks it."""

from typing import NamedTuple

import numpy as np
import pytest
import torch

from gotta import GottaError
from gotta.checks.prior import check, run
from gotta.priors import Patient, Prior, priors


@pytest.mark.parametrize("name", priors.names())
def test_every_prior_passes(name):
    check(name)


def test_a_finished_prior_and_arguments_are_checked_too():
    check(Patient(order_in_batch="none"))
    check("sticky", order_in_batch="none")
    with pytest.raises(GottaError, match="argument of prior 'sticky' 'order' is unknown"):
        run("sticky", order="none")
    with pytest.raises(GottaError, match="cannot be checked as prior"):
        run(dict)


class Belief(NamedTuple):
    seen: np.ndarray


class Good(Prior):
    def begin(self, classes):
        return Belief(np.zeros(classes))

    def restart(self, belief):
        return self.begin(len(belief.seen))

    def judge(self, logits, belief, starts):
        seen = np.zeros_like(belief.seen) if starts[0] else belief.seen
        return logits + torch.from_numpy(seen), Belief(seen + logits.numpy()[-1])


class NotFinite(Good):
    def judge(self, logits, belief, starts):
        return logits / 0, belief


class Impatient(Good):
    """Learns in place, so that looking moves it."""

    def judge(self, logits, belief, starts):
        belief.seen[:] += logits.numpy()[-1]
        return logits + torch.from_numpy(belief.seen), belief


class Random(Good):
    def judge(self, logits, belief, starts):
        return logits + torch.rand(logits.shape), belief


class Deaf(Good):
    def restart(self, belief):
        return belief


@pytest.mark.parametrize(
    ("kind", "property"),
    [(NotFinite, "finite"), (Impatient, "looking"), (Random, "global randomness"), (Deaf, "restarts alike")],
)
def test_a_bad_one_is_told(kind, property):
    assert run(Good).passed, str(run(Good))
    broken = [result.property for result in run(kind).results if not result.passed]
    assert any(property in title for title in broken), broken
