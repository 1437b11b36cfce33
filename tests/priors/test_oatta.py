"""The learned matrix, against the formula written out sample by sample."""

import numpy as np
import pytest
import torch

from gotta import GottaError, adapt
from gotta.priors import Oatta
from gotta.types import Prediction


def follow(prior, logits, starts=None):
    return prior.follow(Prediction(torch.tensor(logits)), starts).logits.softmax(1).numpy()


def slow(logits, share, start, weigh, gate):
    classes = len(logits[0])
    last, counts, proof, answers = [1 / classes] * classes, np.full((classes, classes), start / classes), 0.0, []
    for row in logits:
        q = np.exp(row) / np.exp(row).sum()
        pairs = np.zeros((classes, classes))
        for i in range(classes):
            for j in range(classes):
                pairs[i, j] = last[i] * counts[i, j] / counts[i].sum() * q[j] / (1 / classes)
        total = pairs.sum()
        answers.append(pairs.sum(0) / total if proof > gate else q)
        counts = (1 - share) * counts + pairs / total
        last, proof = pairs.sum(0) / total, (1 - weigh) * proof + weigh * np.log(total)
    return np.array(answers)


@pytest.mark.parametrize("settings", [(0.002, 1.0, 0.02, 0.0), (0.1, 3.0, 0.5, 0.05)])
def test_it_is_the_formula(settings):
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.integers(0, 4, 12), 5)
    logits = rng.normal(size=(60, 4)) + 2 * np.eye(4)[labels]
    expected = slow(logits, *settings)
    prior = Oatta(*settings)
    found = np.concatenate([follow(prior, part) for part in np.split(logits, [7, 30])])
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert np.abs(found - np.exp(logits) / np.exp(logits).sum(1, keepdims=True)).max() > 0.05


def test_classes_that_follow_one_another_in_a_circle_are_foreseen():
    """Nothing stays here, so that a sticky prior has nothing to say."""
    rng = np.random.default_rng(1)
    labels = np.arange(600) % 3
    logits = rng.normal(size=(600, 3)) + 1.2 * np.eye(3)[labels]
    late = slice(300, None)
    right = (follow(Oatta(), logits).argmax(1) == labels)[late].mean()
    assert right > (logits.argmax(1) == labels)[late].mean() + 0.1


def test_without_order_the_network_nearly_answers_alone_and_a_boundary_forgets_the_last_sample():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 5, 800)
    logits = rng.normal(size=(800, 5)) + 2 * np.eye(5)[labels]
    prior = Oatta()
    right = (follow(prior, logits).argmax(1) == labels).mean()
    assert right > (logits.argmax(1) == labels).mean() - 0.02
    prior.boundary()
    np.testing.assert_allclose(prior.belief.last, 0.2)


def test_it_is_saved_and_its_arguments_are_checked():
    prior, logits = Oatta(), np.random.default_rng(3).normal(size=(40, 3))
    follow(prior, logits)
    again = Oatta()
    again.load_state_dict(prior.state_dict())
    assert np.array_equal(follow(prior, logits), follow(again, logits))
    for wrong in ({"share": 0.0}, {"weigh": 1.0}, {"start": -1.0}):
        with pytest.raises(GottaError, match=next(iter(wrong))):
            Oatta(**wrong)
    assert "prior=oatta" in repr(adapt(torch.nn.Linear(3, 3), "source", prior="oatta"))
