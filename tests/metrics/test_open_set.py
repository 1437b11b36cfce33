"""AUC and H-score by their definitions."""

import numpy as np
import pytest

from gotta.metrics.open_set import OpenSet, auc, harmonic_mean
from gotta.types import FOREIGN, Truth


def truth(label, domain):
    return Truth(np.array(label), np.array(domain), np.arange(len(label)))


def test_auc_is_the_share_of_pairs_in_which_the_known_sample_is_surer():
    rng = np.random.default_rng(0)
    score, known = rng.integers(0, 6, 60).astype(float), rng.random(60) < 0.6
    pairs = [(a > b) + 0.5 * (a == b) for a in score[known] for b in score[~known]]
    assert auc(score, known) == pytest.approx(np.mean(pairs))
    assert auc(np.array([3.0, 2.0, 1.0]), np.array([True, True, False])) == 1.0
    assert auc(np.zeros(4), np.array([True, False, True, False])) == 0.5


def test_the_h_score_is_that_of_accuracy_and_auc_in_each_domain():
    metric = OpenSet(["a", "b"])
    sure, unsure, wrong = [9.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 5.0, 0.0]
    metric.update(truth([0, 0, FOREIGN, FOREIGN], [0, 0, 0, 0]), np.array([sure, wrong, unsure, unsure]))
    metric.update(truth([0, FOREIGN], [1, 1]), np.array([unsure, sure]))
    found = metric.summary()
    assert found["foreign"] == 3
    assert found["auc_probability"] == found["auc_entropy"] == found["auc_energy"] == 50.0  # 100 and 0
    assert found["h_score"] == pytest.approx((100 * 2 * 0.5 / 1.5 + 0) / 2)
    assert harmonic_mean(0.0, 0.0) == 0.0


def test_energy_is_that_of_the_networks_own_logits_and_broken_logits_are_the_least_sure():
    metric = OpenSet(["a"])
    flat, raw = np.zeros((2, 3)), np.array([[4.0, 4.0, 4.0], [1.0, 1.0, 1.0]])
    metric.update(truth([0, FOREIGN], [0, 0]), flat, raw)
    assert metric.summary()["auc_energy"] == 100.0
    assert metric.summary()["auc_probability"] == 50.0
    broken = OpenSet(["a"])
    broken.update(truth([0, FOREIGN], [0, 0]), np.array([[0.0, 0.0, 0.0], [np.nan, 0.0, 0.0]]))
    assert broken.summary()["auc_probability"] == 100.0


def test_a_domain_without_foreign_samples_says_nothing():
    metric = OpenSet(["a"])
    metric.update(truth([0, 1], [0, 0]), np.eye(2))
    assert metric.summary() == {
        "foreign": 0, "auc_probability": None, "auc_energy": None, "auc_entropy": None, "h_score": None,
    }  # fmt: skip


def test_a_saved_state_goes_on():
    whole, first, second = OpenSet(["a"]), OpenSet(["a"]), OpenSet(["a"])
    rng = np.random.default_rng(0)
    batches = [(truth(rng.integers(-1, 3, 20), np.zeros(20, int)), rng.normal(size=(20, 3))) for _ in range(2)]
    for batch in batches:
        whole.update(*batch)
    first.update(*batches[0])
    second.load_state_dict(first.state_dict())
    second.update(*batches[1])
    assert second.summary() == whole.summary()
