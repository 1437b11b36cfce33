"""Whether a jump is believed, by three samples written by hand."""

from math import exp, inf, log, nan, sqrt

import pytest
import torch

from gotta.statistics.levels.evidence import Evidence, Score, evenness_of, gain_of, spread_of, widens


def score(*rows):
    return Score.of(torch.tensor(rows, dtype=torch.float64).clamp_min(1e-30).log())


EVEN = score([1, 0, 0], [0, 1, 0], [0, 0, 1])
ONE = score([1, 0, 0], [1, 0, 0], [1, 0, 0])
UNSURE = score(*3 * [[1 / 3, 1 / 3, 1 / 3]])


def test_a_score_is_the_entropy_of_each_sample_and_their_mean():
    found = score([0.5, 0.5, 0], [1, 0, 0], [0, 0.5, 0.5])
    torch.testing.assert_close(found.entropies, torch.tensor([log(2), 0, log(2)], dtype=torch.float64))
    torch.testing.assert_close(found.mean, torch.tensor([0.5, 1 / 3, 1 / 6], dtype=torch.float64))
    assert found.entropy == pytest.approx(2 * log(2) / 3)


def test_what_is_not_finite_says_nothing():
    found = Score.of(torch.tensor([[nan, 0, 0], [inf, 0, 0], [9.0, -inf, 0]]))
    torch.testing.assert_close(found.entropies, torch.full((3,), log(3), dtype=torch.float64))
    for now in (EVEN, ONE, UNSURE):
        assert not Evidence.of(now, found, found).convinces()


def test_the_spread_is_the_entropy_of_the_mean():
    assert spread_of(EVEN.mean) == pytest.approx(log(3))
    assert spread_of(ONE.mean) == pytest.approx(0, abs=1e-9)


def test_evenness_is_how_many_classes_there_are_of_those_that_so_many_samples_could_have():
    assert evenness_of(torch.tensor([1 / 3] * 3), 1e9) == pytest.approx(1)
    assert evenness_of(torch.tensor([1.0, 0, 0]), 1e9) == pytest.approx(0, abs=1e-6)
    assert evenness_of(torch.tensor([0.5, 0.5, 0]), 1e9) == pytest.approx(0.5)
    three = 3 * (1 - (2 / 3) ** 3)  # classes among three samples of an even mix, about
    assert evenness_of(torch.tensor([0.5, 0.5, 0]), 3) == pytest.approx(1 / (three - 1))
    assert evenness_of(torch.tensor([1.0]), 16) == 0.0


def test_the_gain_is_entropy_that_is_gone_and_spread_that_has_come():
    assert gain_of(UNSURE, EVEN, evenness=1) == pytest.approx(log(3))
    assert gain_of(ONE, EVEN, evenness=1) == pytest.approx(log(3))
    assert gain_of(ONE, EVEN, evenness=0.5) == pytest.approx(log(3) / 4)
    assert gain_of(ONE, EVEN, evenness=0) == pytest.approx(0)
    assert Evidence.of(UNSURE, EVEN, EVEN).gain == pytest.approx(log(3))


def test_a_jump_that_makes_the_network_surer_of_many_classes_convinces_and_the_other_way_round_it_does_not():
    assert Evidence.of(UNSURE, EVEN, EVEN).convinces()
    assert not Evidence.of(EVEN, UNSURE, UNSURE).convinces()
    assert not Evidence.of(EVEN, ONE, ONE).convinces()
    assert not Evidence.of(EVEN, EVEN, EVEN).convinces()


def repeat(score, times):
    return score._replace(entropies=score.entropies.repeat(times))


def entropies(now, jumped, mean):
    """Evidence of samples with these entropies and one mean prediction throughout."""
    mean = torch.tensor(mean, dtype=torch.float64)
    held, then = (Score(torch.tensor(part, dtype=torch.float64), mean, mean) for part in (now, jumped))
    return Evidence.of(held, then, then)


@pytest.mark.parametrize(("share", "convincing"), [(0.055, False), (0.065, True)])
def test_of_even_classes_a_gain_of_six_hundredths_of_the_entropy_is_asked_for(share, convincing):
    many = [1.0] * 1000
    assert entropies(many, [1 - share] * 1000, [1 / 3] * 3).convinces() == convincing


@pytest.mark.parametrize(("share", "convincing"), [(0.25, False), (0.27, True)])
def test_of_one_class_more_is_asked_for(share, convincing):
    assert entropies([1.0] * 1000, [1 - share] * 1000, [1.0, 0, 0]).convinces() == convincing


def test_of_few_samples_the_entropy_alone_must_fall_three_standard_errors_clear_of_chance():
    """Falls of 0, 0 and 0.6 in turn: 0.2 on average, and the standard error of so many."""
    for times in (4, 7, 11, 15):
        found = entropies([1.0] * 3 * times, [1.0, 1.0, 0.4] * times, [1 / 3] * 3)
        assert found.convinces() == (0.06 + 3 * sqrt(0.08 / (3 * times)) < 0.2)
    few, many = (Evidence.of(*(repeat(score, times) for score in (ONE, EVEN, EVEN))) for times in (15, 16))
    assert not few.convinces()
    assert many.convinces()


def test_of_skewed_classes_the_network_must_become_surer_whatever_its_predictions_spread_to():
    spread = torch.tensor([[1.0, 0, 0], [0.6, 0.3, 0.1], [0.8, 0.1, 0.1]], dtype=torch.float64)
    for fall, convincing in ((0.05, False), (0.07, True)):
        now, then = (Score(torch.full((60,), h), m, m) for h, m in ((1.0, spread[0]), (1.0 - fall, spread[1])))
        mixed = Score(then.entropies, spread[2], spread[1])
        found = Evidence.of(now, mixed, then)
        assert found.evenness < 0.8
        assert found.gain > (0.06 + 0.2 * (1 - found.evenness))
        assert found.convinces() == convincing


def test_alone_only_enough_samples_of_skewed_classes_convince():
    one, even = [1.0, 0, 0], [1 / 3] * 3
    for mix, count, convincing in ((one, 60, True), (one, 30, False), (even, 60, False)):
        found = entropies([1.0] * count, [0.5] * count, mix)
        assert found.convinces()
        assert found.convinces_alone() == convincing
    assert not entropies([1.0] * 60, [1.0] * 60, one).convinces_alone()


def test_deep_layers_must_not_spread_the_predictions_of_skewed_classes():
    narrow, wide = (Score(torch.zeros(60), m, m) for m in torch.tensor([[0.8, 0.1, 0.1], [0.6, 0.2, 0.2]]))
    assert widens(narrow, wide, evenness=0.79)
    assert not widens(narrow, wide, evenness=0.8)
    assert not widens(narrow, narrow, evenness=0)
    assert not widens(wide, narrow, evenness=0)


@pytest.mark.parametrize(("mix", "errors"), [([1 / 3] * 3, 0), ([0.5, 0.5, 0], 2), ([0.7, 0.15, 0.15], None)])
def test_the_more_evenly_the_classes_of_many_samples_come_the_less_certain_a_gain_must_be(mix, errors):
    """Gains of 1 and -g in turn, of 60 samples, on both sides of what is asked for."""
    evenness = evenness_of(torch.tensor(mix), 60)
    errors = 2 * min(1, (1 - evenness) / 0.5) if errors is None else errors
    asked = 0.06 + 0.2 * (1 - evenness)
    for gain, convincing in ((asked + errors * 0.05 - 0.004, False), (asked + errors * 0.05 + 0.004, True)):
        half = 0.05 * sqrt(60)  # the standard error is 0.05
        jumped = [1 - gain + sign * half for sign in (1, -1)] * 30
        assert entropies([1.0] * 60, jumped, mix).convinces() == convincing


def test_unsure_predictions_of_more_classes_than_samples_are_not_many_classes_and_their_spread_does_not_count():
    torch.manual_seed(0)
    one = Score.of(torch.randn(32, 500) + 4 * (torch.arange(500) == 7))
    assert evenness_of(one.mean, 32) == 1
    assert evenness_of(one.mix, 32) < 0.2
    wide = Score.of(torch.randn(32, 500))
    assert spread_of(wide.mean) > spread_of(one.mean)
    assert gain_of(one, wide, evenness=1) == pytest.approx(one.entropy - wide.entropy)
    assert Evidence.of(one, wide, wide).gain == pytest.approx(one.entropy - wide.entropy)


def test_evidence_adds_up_and_half_of_much_is_forgotten():
    one = Evidence.of(UNSURE, EVEN, ONE)
    assert torch.equal(one.after(torch.zeros(0)).row, one.row)
    assert torch.equal(one.after(one.row).row, 2 * one.row)
    assert one.after(one.row).gain == pytest.approx(one.gain)
    many = one.row * (513 / 3)
    assert torch.equal(one.after(many).row, one.row + many / 2)
    few = one.row * (512 / 3)
    assert torch.equal(one.after(few).row, one.row + few)


def test_the_evidence_of_classes_comes_from_the_shallow_jump():
    assert Evidence.of(ONE, EVEN, ONE).evenness == pytest.approx(1)
    assert Evidence.of(EVEN, ONE, EVEN).evenness == pytest.approx(0, abs=1e-6)
    assert exp(spread_of(EVEN.mean)) == pytest.approx(3)
