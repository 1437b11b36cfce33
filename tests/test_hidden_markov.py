"""The arithmetic of the sticky filter, by hand and for many keys at once."""

import numpy as np
import pytest

from gotta.hidden_markov import HiddenMarkov, PatientMarkov, share_of


def test_one_step_by_hand():
    rule = HiddenMarkov()
    marginal, stay = np.full((3, 2), 0.5), np.full((3, 1), 0.6)
    last, now = np.array([[0.9, 0.1]] * 3), np.array([[0.2, 0.8]] * 3)
    factor, total, after, moved, stays = rule.advance(rule.shares(2), last, marginal, stay, now)
    np.testing.assert_allclose(factor[0], [0.6 * 0.9 / 0.5 + 0.4, 0.6 * 0.1 / 0.5 + 0.4])
    np.testing.assert_allclose(total[0], [0.2 * 1.48 + 0.8 * 0.52])
    np.testing.assert_allclose(after[0], [0.2 * 1.48 / total[0, 0], 0.8 * 0.52 / total[0, 0]])
    np.testing.assert_allclose(moved[0], [0.5 - 0.005 * 0.3, 0.5 + 0.005 * 0.3])
    np.testing.assert_allclose(stays[0], [0.6 + 0.02 * 0.4 * (1 - 1 / total[0, 0])])


@pytest.mark.parametrize("rule", [HiddenMarkov(), PatientMarkov()])
def test_many_keys_at_once_are_each_by_itself(rule):
    rng = np.random.default_rng(0)
    last, marginal, now = (rng.dirichlet(np.ones(4), (5, 3)) for _ in range(3))
    stay = rng.uniform(0.1, 0.98, (5, 3, 1))
    shares = rule.shares(4)
    whole = rule.advance(shares, last, marginal, stay, now)
    for key in range(5):
        alone = rule.advance(shares, last[key], marginal[key], stay[key], now[key])
        for all_keys, one in zip(whole, alone, strict=True):
            np.testing.assert_allclose(all_keys[key], one, rtol=1e-13)


def test_another_temperature_is_believed_once_it_is_clearly_better():
    rule = HiddenMarkov()
    evidence, chosen, proof = [0.0, 0.0, 0.0], 0, 0.0
    for _ in range(100):
        evidence, chosen, proof = rule.choose([0.1, 0.4, 0.0], evidence, chosen, proof)
    assert chosen == 0
    for _ in range(200):
        evidence, chosen, proof = rule.choose([0.1, 0.4, 0.0], evidence, chosen, proof)
    assert (chosen, proof) == (1, 8.0)
    assert rule.acts(proof)
    assert not rule.acts(2.0)


def move(rule, stay):
    """By how much a class that is certain moves the marginal of one in two, at each temperature."""
    even, count = np.full((3, 2), 0.5), len(rule.temperatures)
    now = np.tile([1.0, 0.0], (count, 1))
    return rule.advance(rule.shares(2), even, even, np.full((count, 1), stay), now)[3][:, 0] - 0.5


def test_patience_slows_the_marginal_in_long_runs():
    np.testing.assert_allclose(move(PatientMarkov(), 0.99), 0.5 * 0.005 * 0.04)
    np.testing.assert_allclose(move(PatientMarkov(), 0.5), 0.5 * 0.005)
    np.testing.assert_allclose(move(HiddenMarkov(), 0.99), 0.5 * 0.005)
    assert share_of(0.1, 2) == pytest.approx(0.19)
