"""The sticky prior: equal to the slow filter, causal, harmless without runs, awake again when runs come back."""

import warnings

import numpy as np
import pytest
import torch
from reference.slow_prior import SlowSticky
from tiny import seeded_net
from torch import nn

from gotta import GottaError, adapt
from gotta.priors import OrderWarning, make_prior
from gotta.types import Prediction

CLASSES = 6
pytestmark = pytest.mark.filterwarnings("ignore::gotta.priors.OrderWarning")


def stream(count, run=None, sure=2.0, seed=0, bias=0.0):
    """Logits of a network that is often wrong, and the true classes, in runs or without."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count) if run is None else np.repeat(rng.integers(0, CLASSES, count), run)[:count]
    logits = rng.normal(size=(count, CLASSES)) + sure * np.eye(CLASSES)[labels]
    logits[:, :2] += bias
    return torch.from_numpy(logits).float(), torch.from_numpy(labels)


def accuracy(logits, labels):
    return float((logits.argmax(1) == labels).double().mean())


def follow(prior, logits, size=50):
    return torch.cat([prior.follow(Prediction(part)).logits for part in logits.split(size)])


@pytest.mark.parametrize("run", [None, 3, 40])
def test_it_equals_the_slow_filter(run):
    logits, _ = stream(300, run)
    slow = SlowSticky(CLASSES)
    expected = np.stack([slow(row) for row in logits.double().tolist()])
    prior = make_prior("sticky")
    np.testing.assert_allclose(follow(prior, logits), expected, atol=1e-5)
    assert prior.stickiness == pytest.approx(slow.stay)


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("run", [None, 3, 40, 400])
def test_the_patient_prior_equals_its_slow_filter(run, size):
    logits, _ = stream(1200, run)
    slow, prior = SlowSticky(CLASSES, patient=True), make_prior("patient")
    expected = np.stack([slow(row) for row in logits.double().tolist()])
    np.testing.assert_allclose(follow(prior, logits, size), expected, atol=1e-5)
    np.testing.assert_allclose(prior.belief.marginal[prior.belief.chosen], slow.marginal)
    slow, prior = SlowSticky(CLASSES, patient=True), make_prior("patient", "none")
    expected = np.concatenate([slow.batch(part.double().tolist()) for part in logits.split(size)])
    np.testing.assert_allclose(follow(prior, logits, size), expected, atol=1e-5)


def test_only_the_patient_prior_holds_through_long_runs():
    """In runs of 1,000 the marginal of the sticky prior becomes that of the run, and takes it out of the answer."""
    logits, labels = stream(12_000, 1000)
    usual, patient = (accuracy(follow(make_prior(name), logits), labels) for name in ("sticky", "patient"))
    assert patient > usual + 0.15
    assert patient > 0.95


def test_the_patient_prior_is_off_where_there_are_no_runs():
    logits, labels = stream(8000, bias=1.0)
    got = follow(make_prior("patient"), logits)
    assert abs(accuracy(got[4000:], labels[4000:]) - accuracy(logits[4000:], labels[4000:])) < 0.01


@pytest.mark.parametrize(("run", "stickiness"), [(1, 0.02), (300, 0.99)])
def test_it_equals_the_slow_filter_at_the_ends_of_its_range(run, stickiness):
    """Two sure classes that take turns sample by sample, or in long runs; the other four are never seen."""
    labels = np.arange(3000) // run % 2
    logits = torch.from_numpy(20.0 * np.eye(CLASSES)[labels]).float()
    slow, prior = SlowSticky(CLASSES), make_prior("sticky")
    expected = np.stack([slow(row) for row in logits.double().tolist()])
    np.testing.assert_allclose(follow(prior, logits), expected, atol=1e-4)
    assert prior.belief.marginal[0, 2:] == pytest.approx([1e-3 / CLASSES] * 4, rel=0.01)
    np.testing.assert_allclose(prior.belief.marginal[0], slow.marginal)
    most = max if stickiness > 0.5 else min
    reached = most(look_at_stickiness(logits))
    assert reached == pytest.approx(stickiness)


def look_at_stickiness(logits):
    prior = make_prior("sticky")
    for row in logits[:, None]:
        prior.follow(Prediction(row))
        yield prior.stickiness


@pytest.mark.parametrize("size", [1, 7, 50])
def test_without_an_order_in_the_batch_it_equals_the_slow_filter_too(size):
    logits, _ = stream(300, 40)
    slow, prior = SlowSticky(CLASSES), make_prior("sticky", "none")
    expected = np.concatenate([slow.batch(part.double().tolist()) for part in logits.split(size)])
    np.testing.assert_allclose(follow(prior, logits, size), expected, atol=1e-5)
    assert prior.stickiness == pytest.approx(slow.stay)


def test_it_takes_a_network_that_is_too_sure_less_at_its_word():
    """Logits eight times as large: right as often, and far surer of every error."""
    logits, labels = stream(3000, 40)
    loud = 8 * logits
    slow, prior = SlowSticky(CLASSES), make_prior("sticky")
    got = follow(prior, loud)
    np.testing.assert_allclose(got, np.stack([slow(row) for row in loud.double().tolist()]), atol=1e-4)
    assert prior.belief.chosen > 0
    assert slow.now is slow.filters[prior.belief.chosen]
    fixed = make_prior("sticky")
    fixed.margin = 1e9
    assert accuracy(got, labels) > accuracy(follow(fixed, loud), labels) + 0.05
    assert fixed.belief.chosen == 0


@pytest.mark.parametrize("size", [7, 50])
def test_without_an_order_in_the_batch_a_loud_network_equals_the_slow_filter_too(size):
    logits, _ = stream(2000, 100)
    slow, prior = SlowSticky(CLASSES), make_prior("sticky", "none")
    expected = np.concatenate([slow.batch(part.double().tolist()) for part in (6 * logits).split(size)])
    np.testing.assert_allclose(follow(prior, 6 * logits, size), expected, atol=1e-4)
    assert slow.now is slow.filters[prior.belief.chosen]


def test_a_calibrated_network_is_taken_at_its_word_with_runs_and_without():
    """Noise of variance 1 on a class's logit of 2: the true odds of two classes are twice the difference of logits."""
    for run in (None, 3, 40):
        prior = make_prior("sticky")
        follow(prior, 2 * stream(3000, run)[0])
        assert prior.belief.chosen == 0


@pytest.mark.parametrize("name", ["sticky", "patient"])
def test_it_takes_a_network_that_is_never_sure_for_more_than_it_says(name):
    """The same without the factor of 2: at a temperature of 1.5 classes seem to stay far longer than 3 samples."""
    logits, labels = stream(6000, 3)
    prior, fixed = make_prior(name), make_prior(name)
    fixed.margin = 1e9
    assert accuracy(follow(prior, logits), labels) > accuracy(logits, labels) + 0.05
    assert accuracy(follow(fixed, logits), labels) < accuracy(logits, labels) - 0.1
    assert prior.stickiness == pytest.approx(2 / 3, abs=0.1)


def follow_clips(prior, logits, starts, size):
    out = []
    for part, begins in zip(logits.split(size), torch.as_tensor(starts).split(size), strict=True):
        out.append(prior.follow(Prediction(part), begins.numpy()).logits)
    return torch.cat(out)


@pytest.mark.parametrize("size", [1, 7, 300])
def test_it_restarts_where_a_clip_begins_inside_a_batch_or_between_two(size):
    logits, _ = stream(300, 40)
    starts = np.random.default_rng(0).random(300) < 0.05
    slow, expected = SlowSticky(CLASSES), []
    for begins, row in zip(starts, logits.double().tolist(), strict=True):
        if begins:
            slow.restart()
        expected.append(slow(row))
    prior = make_prior("sticky")
    np.testing.assert_allclose(follow_clips(prior, logits, starts, size), expected, atol=1e-5)
    assert prior.stickiness == pytest.approx(slow.stay)
    assert not np.allclose(expected, follow(make_prior("sticky"), logits), atol=1e-2)


def test_without_an_order_in_the_batch_it_restarts_if_a_clip_begins_anywhere_in_it():
    logits, _ = stream(300, 40)
    starts = np.zeros(300, bool)
    starts[[17, 105, 299]] = True
    slow, expected = SlowSticky(CLASSES), []
    for part, begins in zip(logits.split(10), torch.from_numpy(starts).split(10), strict=True):
        if begins.any():
            slow.restart()
        expected.append(slow.batch(part.double().tolist()))
    got = follow_clips(make_prior("sticky", "none"), logits, starts, 10)
    np.testing.assert_allclose(got, np.concatenate(expected), atol=1e-5)


@pytest.mark.parametrize("name", ["sticky", "ema"])
def test_with_a_clip_of_one_sample_each_prediction_is_the_networks_own(name):
    logits, _ = stream(100, 20)
    got = follow_clips(make_prior(name), logits, np.ones(100, bool), 10)
    torch.testing.assert_close(got, logits.log_softmax(1))


@pytest.mark.parametrize("name", ["sticky", "ema"])
def test_how_the_stream_is_cut_into_batches_does_not_matter(name):
    logits, _ = stream(60, 10)
    assert torch.allclose(follow(make_prior(name), logits, 60), follow(make_prior(name), logits, 1), atol=1e-6)


@pytest.mark.parametrize("name", ["sticky", "patient"])
def test_a_sample_depends_on_no_later_one(name):
    logits, _ = stream(60, 10)
    other = logits.clone()
    other[40:] = other[40:].flip(0)
    assert torch.equal(follow(make_prior(name), logits)[:40], follow(make_prior(name), other)[:40])


@pytest.mark.parametrize("name", ["sticky", "patient"])
def test_it_helps_where_classes_come_in_runs_and_is_off_where_they_do_not(name):
    logits, labels = stream(2000, 20)
    prior = make_prior(name)
    assert accuracy(follow(prior, logits), labels) > accuracy(logits, labels) + 0.1
    logits, labels = stream(4000, sure=3.0)
    prior = make_prior(name)
    assert accuracy(follow(prior, logits)[1000:], labels[1000:]) > accuracy(logits[1000:], labels[1000:]) - 0.01
    assert prior.stickiness < 0.1


@pytest.mark.parametrize("name", ["sticky", "patient"])
def test_a_biased_network_does_not_look_sticky(name):
    logits, labels = stream(4000, sure=1.0, bias=2.5)
    prior = make_prior(name)
    assert accuracy(follow(prior, logits), labels) > accuracy(logits, labels) - 0.01
    fair = make_prior(name)
    fair.slow = 0.0  # without the marginal the same stream looks like runs of two classes
    assert accuracy(follow(fair, logits), labels) < accuracy(follow(prior, logits), labels) - 0.01


@pytest.mark.parametrize("name", ["sticky", "patient"])
def test_runs_after_a_hundred_thousand_samples_without_any_are_noticed_within_five_hundred(name):
    prior = make_prior(name)
    follow(prior, stream(100_000, sure=3.0)[0], 1000)
    assert prior.stickiness < 0.1
    follow(prior, stream(500, 50, sure=3.0, seed=1)[0])
    assert prior.stickiness > 0.5


def test_without_stickiness_the_output_is_the_networks_own():
    logits, _ = stream(50)
    prior = make_prior("sticky")
    prior.start = 0.0
    prior.least = 0.0
    torch.testing.assert_close(follow(prior, logits), logits.log_softmax(1))


def test_a_boundary_forgets_the_last_sample_and_nothing_else():
    logits, _ = stream(30, 30, sure=4)
    prior = make_prior("sticky")
    follow(prior, logits)
    stickiness = prior.stickiness
    unsure = Prediction(torch.zeros(1, CLASSES))
    assert prior.look(unsure).probs.max() > 0.5
    prior.boundary()
    assert prior.stickiness == stickiness
    torch.testing.assert_close(prior.look(unsure).probs, torch.full((1, CLASSES), 1 / CLASSES))


def test_in_a_shuffled_batch_the_order_does_not_count():
    logits, _ = stream(40, 20)
    first, second = make_prior("sticky", "none"), make_prior("sticky", "none")
    mixed = torch.randperm(20, generator=torch.Generator().manual_seed(0))
    for part in logits.split(20):
        got, other = first.follow(Prediction(part)).logits, second.follow(Prediction(part[mixed])).logits
        torch.testing.assert_close(got[mixed], other)
    assert first.stickiness == pytest.approx(second.stickiness)


def test_one_warning_says_that_predictions_lean_on_the_order():
    logits, _ = stream(600, 200, sure=5)
    prior = make_prior("sticky")
    with pytest.warns(OrderWarning, match="prior='none'") as told:
        follow(prior, logits)
    assert len(told) == 1
    told_at = next(at for at, stay in enumerate(look_at_stickiness(logits)) if stay > 0.9)
    early = make_prior("sticky")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        follow(early, logits[:told_at], 1)
        with pytest.raises(OrderWarning, match=r"stickiness 0\.90"):
            follow(early, logits[told_at : told_at + 1], 1)


def test_the_moving_average_is_the_one_that_is_said():
    """Nine tenths of the last average and a tenth of each new prediction; 0.03 is added where it is a factor."""
    logits, _ = stream(40, 5)
    average, expected = np.full(CLASSES, 1 / CLASSES), []
    for probs in logits.double().softmax(1).numpy():
        weighed = probs * (average + 0.03)
        expected.append(np.log(weighed / weighed.sum()))
        average = 0.9 * average + 0.1 * probs
    np.testing.assert_allclose(follow(make_prior("ema"), logits), expected, atol=1e-5)


def test_the_moving_average_without_an_order_takes_a_batch_at_once():
    (first, second), last = stream(12, 3)[0].double().split(6), np.full(CLASSES, 1 / CLASSES)
    prior = make_prior("ema", order_in_batch="none")
    for logits in (first, second):
        expected = (logits.softmax(1) * torch.from_numpy(last + 0.03)).log().log_softmax(1)
        np.testing.assert_allclose(prior.follow(Prediction(logits)).logits, expected, atol=1e-9)
        last += (1 - 0.9 ** len(logits)) * (logits.softmax(1).mean(0).numpy() - last)


def test_the_network_itself_and_the_memory_can_be_had_without_the_prior():
    x = torch.rand(12, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    own = seeded_net()(x)
    model = adapt(seeded_net(), "source", prior="ema")
    prediction = model.step(x).prediction
    torch.testing.assert_close(prediction.raw.logits, own)
    assert not torch.allclose(prediction.logits.softmax(1), own.softmax(1))
    held = {}
    for labels in ("filtered", "raw"):
        model = adapt(seeded_net(), "norm", "fifo", 12, 10, prior="ema", labels=labels, statistics="source")
        prediction = model.step(x).prediction
        held[labels] = model.memory.peek().embedding
        expected = prediction if labels == "filtered" else prediction.raw
        torch.testing.assert_close(held[labels].sort(0)[0], expected.probs.sort(0)[0])


def test_a_step_is_told_where_clips_begin():
    x = torch.rand(6, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    model, other, own = (adapt(seeded_net(), "source", prior=name) for name in ("sticky", "sticky", "none"))
    model(x)
    other(x)
    other.boundary()
    assert torch.equal(model(x, starts=[True] + [False] * 5), other(x))
    torch.testing.assert_close(model(x, starts=torch.ones(6, dtype=torch.bool)), own(x).log_softmax(1))
    before = model.method.prior.state_dict()
    for wrong in ([True], [1] * 6, "yes"):
        with pytest.raises(GottaError, match="starts must say true or false of each of the 6 samples"):
            model(x, starts=wrong)
    model.freeze()
    model(x, starts=[True] * 6)
    after = model.method.prior.state_dict()
    for name in ("last", "marginal", "stay", "evidence"):
        assert torch.equal(after["belief"][name], before["belief"][name])


def test_a_clip_that_begins_in_a_batch_that_was_left_out_is_not_forgotten():
    x = torch.rand(6, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    model, other = (adapt(seeded_net(), "source", prior="sticky") for _ in range(2))
    for each in (model, other):
        each(x)
    with pytest.warns(UserWarning, match="taken back"):
        model(1e9 * x, starts=[False] * 5 + [True])
    other.boundary()
    assert torch.equal(model(x), other(x))


def test_it_composes_with_a_network_without_batch_norm():
    model = adapt(seeded_net(lambda channels: nn.GroupNorm(4, channels)), "tent", prior="sticky")
    assert model(torch.rand(5, 3, 8, 8)).shape == (5, 10)
    assert model.method.prior.stickiness is not None


def test_unknown_names_are_one_error():
    for settings, words in [
        ({"prior": "stick"}, "Did you mean 'sticky'"),
        ({"prior": "ema", "labels": "row"}, "labels 'row' is unknown"),
        ({"prior": "ema", "order_in_batch": "tim"}, "Did you mean 'time'"),
    ]:
        with pytest.raises(GottaError, match=words):
            adapt(seeded_net(), "source", **settings)


def test_the_moving_average_multiplies_what_the_network_says():
    """p (a + 0.03), a moved by a tenth per sample from the uniform, as the rule is written down; sample by sample."""
    logits, _ = stream(30, 5)
    average, expected = np.full(logits.shape[1], 1 / logits.shape[1]), []
    for p in logits.double().softmax(1).numpy():
        found = p * (average + 0.03)
        expected.append(found / found.sum())
        average += 0.1 * (p - average)
    prior = make_prior("ema")
    np.testing.assert_allclose(follow(prior, logits).softmax(1), expected, atol=1e-5)
    assert prior.stickiness is None  # it has no opinion of that


@pytest.mark.parametrize("name", ["sticky", "ema"])
def test_asked_again_of_the_samples_that_moved_it_last_it_answers_the_same(name):
    logits, _ = stream(90, 30)
    prior = make_prior(name)
    for part in logits.split(30):
        raw = Prediction(part)
        answer = prior.follow(raw).logits
        assert torch.equal(prior.look(raw, again=True).logits, answer)
    assert not torch.equal(prior.look(raw).logits, answer)


def test_the_network_answers_alone_until_classes_are_seen_to_stay():
    """A run is used within ten samples, and a few that it was wrong about are enough to be silent again."""
    sure = 8.0 * torch.eye(CLASSES)
    prior, seen = make_prior("sticky"), []
    for label in [*10 * [0], 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 0]:
        before, raw = prior.belief, Prediction(sure[[label]])
        answer = prior.follow(raw)
        seen.append(not torch.equal(answer.logits, sure[[label]].double().log_softmax(1).float()))
        assert seen[-1] == (before is not None and before.proof > 2)
        assert -2 <= prior.belief.proof <= 8
    assert seen[:2] == [False, False]
    assert all(seen[8:11])  # the eleventh is the first of another class
    assert not any(seen[20:])


@pytest.mark.parametrize("name", ["sticky", "patient"])
def test_the_proof_has_limits_so_that_it_starts_and_stops_soon(name):
    prior = make_prior(name)
    follow(prior, 20.0 * torch.eye(CLASSES)[torch.arange(400) % 2])  # no class ever stays
    assert prior.belief.proof == -2
    follow(prior, 20.0 * torch.eye(CLASSES)[torch.arange(600) // 100])
    assert 2 < prior.belief.proof <= 8


@pytest.mark.parametrize("name", ["sticky", "patient"])
@pytest.mark.parametrize("seed", range(3))
def test_without_runs_and_with_classes_in_turns_nothing_is_lost_from_the_first_sample_on(name, seed):
    for sure in (2.0, 4.0):
        logits, labels = stream(300, sure=sure, seed=seed)
        assert accuracy(follow(make_prior(name), logits), labels) >= accuracy(logits, labels) - 0.01
        turns = torch.arange(300) % 2
        logits = logits + sure * (torch.eye(CLASSES)[turns] - torch.eye(CLASSES)[labels])
        assert accuracy(follow(make_prior(name), logits), turns) >= accuracy(logits, turns) - 0.01


def follow_counting(prior, logits, starts, counts, size):
    parts = zip(
        logits.split(size), torch.as_tensor(starts).split(size), torch.as_tensor(counts).split(size), strict=True
    )
    return torch.cat([prior.follow(Prediction(part), begins.numpy(), count).logits for part, begins, count in parts])


@pytest.mark.parametrize("name", ["sticky", "patient", "ema"])
@pytest.mark.parametrize("size", [1, 7, 200])
def test_samples_that_do_not_count_move_nothing_and_have_the_networks_own_prediction(name, size):
    """And a clip that begins on one of them begins on the next that counts."""
    rng = np.random.default_rng(size)
    logits, _ = stream(200, 20)
    counts, starts, begun, open_ = rng.random(200) < 0.6, rng.random(200) < 0.1, [], False
    counts[40:60] = False  # whole batches of them
    for begins, count in zip(starts, counts, strict=True):
        open_ = open_ or begins
        if count:
            begun.append(open_)
            open_ = False
    whole, alone = make_prior(name), make_prior(name)
    got = follow_counting(whole, logits, starts, counts, size)
    torch.testing.assert_close(got[~counts], logits[~counts].log_softmax(1))
    torch.testing.assert_close(
        got[counts], follow_clips(alone, logits[counts], np.array(begun), 200), atol=1e-5, rtol=1e-5
    )
    if open_:
        alone.boundary()
    for one, other in zip(whole.belief, alone.belief, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_asked_again_the_same_samples_count():
    logits, counts = stream(40, 20)[0], torch.arange(40) % 3 > 0
    prior = make_prior("ema")
    answer = prior.follow(Prediction(logits), counts=counts).logits
    assert torch.equal(prior.look(Prediction(logits), again=True).logits, answer)
    assert not torch.equal(prior.look(Prediction(logits)).logits, answer)


@pytest.mark.parametrize("order", ["time", "none"])
@pytest.mark.parametrize("name", ["sticky", "patient", "ema"])
def test_what_is_foreseen_for_several_streams_is_what_each_would_say(name, order):
    rng, sizes = torch.Generator().manual_seed(0), (3, 1, 5)
    together, alone = ([make_prior(name, order) for _ in sizes] for _ in range(2))
    for _ in range(12):
        raw = [Prediction(torch.randn(size, 4, generator=rng) + 3 * torch.eye(4)[at]) for at, size in enumerate(sizes)]
        found = together[0].foresee(together, [one.logits for one in raw])
        for prior, other, one, foreseen in zip(together, alone, raw, found, strict=True):
            prior.foreseen = foreseen
            said = prior.follow(one)
            if name == "ema" or order == "none":
                assert foreseen is None
            else:
                assert said.logits is foreseen.judged
            assert torch.equal(said.logits, other.follow(one).logits)
            assert str(prior.state_dict()) == str(other.state_dict())


def test_what_was_foreseen_is_left_where_samples_do_not_count_begin_anew_or_are_others():
    raw = Prediction(torch.randn(4, 3, generator=torch.Generator().manual_seed(0)))
    counts, starts = torch.tensor([True, False, True, True]), np.array([False, False, True, False])
    for given, how in ((raw, (None, counts)), (raw, (starts, None)), (Prediction(raw.logits.clone()), (None, None))):
        prior, other = make_prior("patient"), make_prior("patient")
        prior.foreseen = foreseen = prior.foresee([prior], [raw.logits])[0]
        assert prior.follow(given, *how).logits is not foreseen.judged
        other.follow(given, *how)
        assert str(prior.state_dict()) == str(other.state_dict())
        assert prior.foreseen is None
