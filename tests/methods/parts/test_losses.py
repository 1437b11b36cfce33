"""Losses by hand."""

from math import log

import pytest
import torch

from gotta.methods.parts.losses import confident, entropy, pseudo_label_loss, soft_cross_entropy

LOGITS = torch.tensor([[0.0, 0.0], [log(3), 0.0]])  # probabilities 1/2, 1/2 and 3/4, 1/4


def test_entropy_is_largest_where_nothing_is_known():
    expected = [log(2), -0.75 * log(0.75) - 0.25 * log(0.25)]
    assert entropy(LOGITS).tolist() == pytest.approx(expected)


def test_soft_cross_entropy_weighs_by_the_target():
    expected = [-0.75 * log(0.5) - 0.25 * log(0.5), -0.5 * log(0.75) - 0.5 * log(0.25)]
    assert soft_cross_entropy(LOGITS, target=LOGITS.flip(0)).tolist() == pytest.approx(expected)
    assert soft_cross_entropy(LOGITS, LOGITS).tolist() == pytest.approx(entropy(LOGITS).tolist())


def test_a_probability_at_the_threshold_is_not_confident():
    assert confident(LOGITS, 0.5).tolist() == [False, True]
    assert confident(LOGITS, 0.49).tolist() == [True, True]


def test_pseudo_labels_are_the_own_argmax():
    assert pseudo_label_loss(LOGITS[1:]).item() == pytest.approx(-log(0.75))
    assert pseudo_label_loss(LOGITS[1:].flip(1)).item() == pytest.approx(-log(0.75))
