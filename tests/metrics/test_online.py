import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from gotta.errors import GottaError
from gotta.metrics.online import Online, calibration_bins, visit_names
from gotta.types import Truth


def truth(label, domain=None):
    label = np.asarray(label, np.int64)
    domain = np.zeros_like(label) if domain is None else np.asarray(domain, np.int64)
    return Truth(label, domain, np.arange(len(label)))


def sure(guesses, num_classes, logit=2.0):
    return np.eye(num_classes)[guesses] * logit


def random_step(seed, samples=40, num_classes=4, domains=3):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, (samples, num_classes)).astype(np.float32)
    return truth(rng.integers(num_classes, size=samples), rng.integers(domains, size=samples)), logits


def take(step, rows):
    target, logits = step
    return Truth(target.label[rows], target.domain[rows], target.index[rows]), logits[rows]


def close(left, right):
    """The same structure with floats equal up to the order of a sum."""
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(close(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(close, left, right))
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    return left == right


def test_each_sample_counts_for_its_own_domain_and_the_mean_is_over_domains():
    online = Online(2, ["a", "b"])
    record = online.update(truth([0, 1, 1, 0], [0, 0, 0, 1]), sure([0, 1, 0, 1], 2))
    assert record["samples"] == 4
    assert record["correct"] == 2
    assert record["accuracy"] == 50.0
    assert record["domains"] == {"a": 3, "b": 1}
    summary = online.summary()
    assert [d["accuracy"] for d in summary["domains"]] == [pytest.approx(200 / 3), 0.0]
    assert [d["samples"] for d in summary["domains"]] == [3, 1]
    assert summary["accuracy"] == pytest.approx(100 / 3)
    assert summary["error"] == pytest.approx(200 / 3)
    assert summary["overall"] == 50.0
    assert summary["class_accuracy"] == 37.5  # of a 100 and 50, of b 0


def test_two_visits_of_a_domain_are_two_domains():
    online = Online(2, ["fog", "snow", "fog"])
    record = online.update(truth([0, 0, 0, 0], [0, 1, 2, 2]), sure([0, 1, 0, 1], 2))
    assert record["domains"] == {"fog": 1, "snow": 1, "fog (visit 2)": 2}
    summary = online.summary()
    assert [(d["name"], d["accuracy"]) for d in summary["domains"]] == [("fog", 100.0), ("snow", 0.0), ("fog", 50.0)]
    assert summary["accuracy"] == 50.0
    assert visit_names(["a", "a", "b", "a"]) == ["a", "a (visit 2)", "b", "a (visit 3)"]


def test_a_domain_without_samples_is_none_and_outside_the_mean():
    online = Online(2, ["a", "b"])
    online.update(truth([0, 1], [1, 1]), sure([0, 1], 2))
    summary = online.summary()
    assert summary["domains"][0] == {"name": "a", "samples": 0, "accuracy": None, "error": None}
    assert summary["accuracy"] == 100.0


def test_classes_and_predicted_shares():
    online = Online(3, ["a"])
    online.update(truth([0, 0, 0, 1]), sure([0, 0, 1, 1], 3))
    summary = online.summary()
    assert summary["classes"] == [pytest.approx(200 / 3), 100.0, None]
    assert summary["predicted"] == [50.0, 50.0, 0.0]


def test_ece_by_hand():
    # confidences .9 .9 (bin 14), .6 (bin 9); right, wrong, right
    # |1 - 1.8| + |1 - .6| = 1.2, over 3 samples
    probs = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]])
    online = Online(2, ["a"])
    online.update(truth([0, 1, 1]), np.log(probs))
    assert online.summary()["ece"] == pytest.approx(40.0)


def test_bins_of_a_fifteenth_are_counted_from_the_lowest():
    confidences = np.array([0.51, 0.55, 0.99])  # in (7/15, 8/15], (8/15, 9/15] and (14/15, 1]
    bins = calibration_bins(np.log(np.stack([confidences, 1 - confidences], 1)), np.array([True, False, True]))
    assert [row.nonzero()[0].tolist() for row in bins] == [[7, 8, 14], [7, 14], [7, 8, 14]]
    assert bins[2][[7, 8, 14]] == pytest.approx(confidences)


def test_a_confidence_of_one_falls_into_the_last_bin():
    online = Online(2, ["a"])
    online.update(truth([0, 1]), np.array([[1000.0, 0.0], [1000.0, 0.0]]))
    assert online.summary()["ece"] == pytest.approx(50.0)
    assert online.summary()["nll"] == pytest.approx(500.0)


def test_ece_equals_a_loop_over_samples():
    step = random_step(3, samples=300)
    online = Online(4, ["a", "b", "c"])
    online.update(*step)
    probs = torch.from_numpy(step[1]).double().softmax(1)
    confidence, guess = probs.max(1)
    expected = 0.0
    for k in range(15):
        members = [i for i in range(300) if k / 15 < confidence[i] <= (k + 1) / 15]
        if members:
            right = sum(int(guess[i]) == step[0].label[i] for i in members) / len(members)
            expected += len(members) / 300 * abs(right - sum(float(confidence[i]) for i in members) / len(members))
    assert online.summary()["ece"] == pytest.approx(100 * expected)


def test_nll_equals_cross_entropy_also_for_large_logits():
    target, logits = random_step(1)
    logits *= 200
    online = Online(4, ["a", "b", "c"])
    record = online.update(target, logits)
    expected = cross_entropy(torch.from_numpy(logits).double(), torch.from_numpy(target.label)).item()
    assert record["nll"] == pytest.approx(expected)
    assert online.summary()["nll"] == pytest.approx(expected)


def test_entropy_of_uniform_and_certain_predictions():
    online = Online(4, ["a"])
    assert online.update(truth([0]), np.zeros((1, 4)))["entropy"] == pytest.approx(math.log(4))
    assert online.update(truth([0]), np.array([[1e308, -1e308, 0, 0]]))["entropy"] == 0.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nonfinite_logits_are_wrong_and_outside_calibration(bad):
    online = Online(2, ["a"])
    logits = np.array([[2.0, 0.0], [2.0, 0.0], [bad, 0.0], [0.0, bad]])
    record = online.update(truth([0, 0, 0, 1]), logits)
    assert record["nonfinite"] == 2
    assert record["correct"] == 2
    only_finite = Online(2, ["a"])
    only_finite.update(truth([0, 0]), logits[:2])
    summary = online.summary()
    assert summary["overall"] == 50.0
    assert summary["nonfinite"] == 2
    assert summary["nll"] == only_finite.summary()["nll"]
    assert summary["ece"] == only_finite.summary()["ece"]
    assert summary["predicted"] == [50.0, 0.0]


def test_a_step_without_one_finite_row():
    online = Online(2, ["a"])
    record = online.update(truth([0, 1]), np.full((2, 2), np.nan))
    assert record["nll"] is None
    assert record["accuracy"] == 0.0
    assert online.summary()["ece"] is None


def test_nothing_seen_is_none_and_json_ready():
    summary = Online(2, ["a"]).summary()
    assert summary["samples"] == 0
    assert summary["accuracy"] is summary["error"] is summary["ece"] is summary["nll"] is None
    online = Online(4, ["a", "b", "c"])
    record = online.update(*random_step(0))
    json.dumps([summary, record, online.summary()], allow_nan=False)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.permutations(range(40)))
def test_the_order_of_samples_does_not_matter(seed, order):
    step = random_step(seed)
    straight, permuted = Online(4, ["a", "b", "c"]), Online(4, ["a", "b", "c"])
    straight.update(*step)
    permuted.update(*take(step, order))
    assert close(straight.summary(), permuted.summary())


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 40))
def test_splitting_a_step_does_not_matter(seed, cut):
    step = random_step(seed)
    whole, split = Online(4, ["a", "b", "c"]), Online(4, ["a", "b", "c"])
    whole.update(*step)
    split.update(*take(step, slice(0, cut)))
    split.update(*take(step, slice(cut, 40)))
    assert close(whole.summary(), split.summary())


@pytest.mark.parametrize(
    ("target", "logits", "message"),
    [
        (truth([0, 1]), np.zeros((2, 3)), "logits must be"),
        (truth([0, 1]), np.zeros((3, 2)), "logits must be"),
        (truth([0, 2]), np.zeros((2, 2)), "labels must lie in 0..1"),
        (truth([0, -1]), np.zeros((2, 2)), "labels must lie in 0..1"),
        (truth([0, 1], [0, 1]), np.zeros((2, 2)), "domains must lie in 0..0"),
    ],
)
def test_a_wrong_step_changes_nothing(target, logits, message):
    online = Online(2, ["a"])
    with pytest.raises(GottaError, match=message):
        online.update(target, logits)
    assert online.summary() == Online(2, ["a"]).summary()


def test_the_error_of_a_domain_is_what_its_accuracy_leaves():
    online = Online(2, ["a"])
    online.update(truth([0, 1, 1, 1]), sure([0, 0, 0, 0], 2))
    assert online.summary()["domains"] == [{"name": "a", "samples": 4, "accuracy": 25.0, "error": 75.0}]
