"""Changes of domain on the bundled network and images: found soon, left again, never found where there are none."""

from copy import deepcopy
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tiny import seeded_net
from torch import nn

import gotta
import gotta.models
from gotta import adapt
from gotta.core.inputs import NetworkWarning
from gotta.data import dataset
from gotta.data.corruptions import corrupt
from gotta.statistics.levels.class_statistics import ClassStatistics
from gotta.statistics.levels.evidence import Score
from gotta.statistics.levels.trial import Trial
from gotta.types import Prediction

WORTH = "gotta.statistics.levels.look.Look.is_worth_a_trial"

pytestmark = pytest.mark.filterwarnings("ignore::gotta.priors.OrderWarning")


@cache
def images():
    """Clean and noisy ones, and their classes, in an order that means nothing."""
    bundled = dataset("cifar10-mini")
    rows = np.random.default_rng(0).permutation(len(bundled.labels))[:640]
    clean = bundled.images("clean", rows)
    noisy = corrupt(clean, "gaussian_noise", 5, index=rows)
    labels = torch.as_tensor(np.asarray(bundled.labels)[rows])
    return SimpleNamespace(clean=to_tensor(clean), noisy=to_tensor(noisy), labels=labels)


def to_tensor(pixels):
    return torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2).float().div(255)


@cache
def network():
    return gotta.models.load("resnet20").eval().requires_grad_(False)


def make(**settings):
    model = adapt(network(), **{"prior": "none", **settings})
    return model, model.method.statistics


def follow(model, x, size):
    return torch.cat([model(part) for part in x.split(size)])


def is_at_source(levels):
    return torch.equal(levels.mean, levels.source_mean) and torch.equal(levels.var, levels.source_var)


def right(logits, labels):
    return int((logits.argmax(1) == labels).sum())


@pytest.mark.parametrize("size", [1, 8, 64])
def test_noise_is_found_within_128_samples_and_the_network_gains(size):
    model, levels = make()
    x, labels = images().noisy[:160], images().labels[:160]
    got = follow(model, x[:128], size)
    assert levels.away
    assert 1 <= levels.jumps <= 3  # single samples are judged by 16 of them, so that better levels may follow
    assert not is_at_source(levels)
    got = torch.cat([got, follow(model, x[128:], size)])
    assert right(got, labels) > right(network()(x), labels) + 25


@pytest.mark.parametrize("kind", ["even", "one class", "two in turns", "sorted"])
def test_on_a_clean_stream_of_any_mix_every_level_is_bitwise_the_sources(kind):
    model, levels = make()
    labels = images().labels
    order = {
        "even": torch.arange(256),
        "one class": (labels == 3).nonzero().flatten(),
        "two in turns": torch.stack([(labels == c).nonzero().flatten()[:50] for c in (3, 5)], 1).flatten(),
        "sorted": labels[:256].argsort(stable=True),
    }[kind]
    x = images().clean[order]
    for part in x.split(32):
        torch.testing.assert_close(model(part), network()(part), rtol=1e-4, atol=1e-4)
        assert is_at_source(levels)
    assert not levels.away
    assert levels.jumps == 0
    assert levels.samples > 0.9 * len(x)


def test_clean_samples_after_noisy_ones_bring_back_the_sources_level_bitwise():
    model, levels = make()
    follow(model, images().noisy[:128], 64)
    assert levels.away
    follow(model, images().clean[128:256], 64)
    assert not levels.away
    assert is_at_source(levels)


def weights(model):
    return torch.cat([value.flatten() for value in model.model.state_dict().values()])


TRAINED = [
    {"method": "tent"},
    {"method": "tent", "statistics": "gated", "adapt_every": 32},
    {"method": "rotta", "memory": "fps", "capacity": 16, "statistics": "class"},
    {"method": "tent", "background": True},
]


@pytest.mark.parametrize("settings", TRAINED, ids=lambda settings: "-".join(map(str, settings.values())))
def test_training_waits_for_a_change_and_begins_anew_with_the_next(settings, tmp_path):
    model, levels = make(**settings)
    source = weights(model)
    clean, noisy = images().clean, images().noisy
    follow(model, clean[:128], 64)
    model.save(tmp_path)  # where what waits behind is learned from first
    assert model.adaptations == 0
    assert torch.equal(weights(model), source)
    model = gotta.load(tmp_path, network())
    levels = model.method.statistics
    follow(model, noisy[:128], 64)
    model.save(tmp_path)
    assert levels.away
    assert model.adaptations > 0
    assert not torch.equal(weights(model), source)
    follow(model, clean[128:256], 64)
    model.save(tmp_path)
    assert not levels.away
    assert torch.equal(weights(model), source)
    adaptations = model.adaptations
    follow(model, clean[256:320], 64)
    model.save(tmp_path)
    assert model.adaptations == adaptations


def test_the_model_in_front_has_the_sources_weights_too_once_the_one_behind_is_home():
    model, levels = make(method="tent", background=True)
    source = weights(model)
    for x in (images().noisy[:128], images().clean[128:256]):
        follow(model, x, 64)
        model.wait()
        assert torch.equal(weights(model.behind.front), source) is not levels.away


def test_each_found_domain_begins_with_the_sources_weights(monkeypatch):
    model, levels = make(method="tent")
    source, begun = weights(model), []
    start_over = model.method.start_over
    monkeypatch.setattr(model.method, "start_over", lambda: (start_over(), begun.append(weights(model))))
    follow(model, images().noisy[:128], 64)
    assert begun == []  # nothing was trained yet
    follow(model, 0.25 * images().clean[128:192] + 0.6, 64)
    assert levels.jumps == 2
    assert [torch.equal(one, source) for one in begun] == [True]


def test_a_step_that_fails_after_coming_home_is_taken_back_as_a_whole(monkeypatch):
    model, levels = make(method="tent")
    follow(model, images().noisy[:128], 64)
    for part in images().clean[128:].split(64):
        before, state = weights(model), model.method.state_dict()
        copied = deepcopy(model)
        copied(part)
        if not copied.method.statistics.away:
            break
    assert torch.equal(weights(copied), weights(make(method="tent")[0]))
    monkeypatch.setattr(model, "_learn", lambda *_: 1 / 0)
    with pytest.raises(gotta.GottaError, match="division by zero"):
        model(part)
    assert levels.away
    assert torch.equal(weights(model), before)
    monkeypatch.undo()
    torch.testing.assert_close(model.method.state_dict(), state, rtol=0, atol=0)


def test_without_batch_norm_there_is_no_home_and_training_begins_at_once():
    model = adapt(gotta.models.load("resnet20-gn"), "tent", statistics="class")
    model(images().clean[:16])
    assert model.adaptations == 1
    assert model.method.domain is None


@pytest.mark.parametrize(("at_home", "returns"), [(0.05, True), (0.5, False)])
def test_samples_as_the_source_knows_them_bring_back_its_level_although_a_jump_seems_better(
    at_home, returns, monkeypatch
):
    """Away, and surest after a jump: where samples are near the source, that does not count."""
    model, levels = make()
    follow(model, images().noisy[:128], 64)
    assert levels.away
    held, source, jumped = (scale * torch.eye(10)[images().labels[:64]] for scale in (1.0, 3.0, 6.0))
    seen = {
        "distance": 0.9,
        "is_farther": True,
        "is_video": False,
        "noise": levels.noise,
        "mean": torch.full((10,), 0.1),
    }
    look = SimpleNamespace(counts=None, counted=64, number=64, **seen)
    trial = Trial(levels, network(), lambda: None, look)
    monkeypatch.setattr(trial, "_jump", lambda *_: (Score.of(jumped), None))
    monkeypatch.setattr(trial, "_hold", lambda *_: (Score.of(source), at_home))
    monkeypatch.setattr(trial, "_level_of", lambda _: (levels.mean + 1, levels.var))
    changes, level = trial.decide(Prediction(held, None, "probs"))
    assert changes["away"] is not returns
    assert (level[0] is levels.source_mean) is returns


@pytest.mark.parametrize("size", [1, 8])
def test_small_batches_find_a_change_in_the_midst_of_a_stream(size):
    """Single samples of a new domain are far from those of the old one that wait, and count all the same."""
    model, levels = make()
    follow(model, images().clean[:72], size)
    assert not levels.away
    follow(model, images().noisy[72:200], size)
    assert levels.away
    model, levels = make()
    follow(model, images().noisy[:72], size)
    assert levels.away
    jumps = levels.jumps
    follow(model, images().clean[72:200], size)
    assert not levels.away or levels.jumps > jumps


def frames(count):
    """A film: each picture becomes the next one within 24 frames."""
    still = (255 * images().clean[: count // 24 + 2]).permute(0, 2, 3, 1)
    return torch.stack([still[at // 24].lerp(still[at // 24 + 1], at % 24 / 24) for at in range(count)])


def test_frames_of_a_video_permit_movement_and_no_jump():
    film = frames(256).byte().numpy()
    noisy = to_tensor(corrupt(film, "gaussian_noise", 5, index=np.arange(256)))
    model, levels = make()
    model(noisy[:64])
    assert levels.newness < 0.4
    assert (levels.away, levels.jumps) == (True, 0)
    before = levels.mean
    follow(model, noisy[64:], 64)
    assert not torch.equal(levels.mean, before)
    assert levels.jumps == 0
    assert levels.trials == 1


def everything(levels, but=("recent",)):
    return {name: value for name, value in levels.state_dict().items() if name not in but}


def assert_close(one, other):
    for name, value in everything(one).items():
        torch.testing.assert_close(
            torch.as_tensor(value), torch.as_tensor(everything(other)[name]), rtol=2e-3, atol=2e-3
        )


@pytest.mark.parametrize("kind", ["zeros", "white", "repeated", "last again"])
@pytest.mark.parametrize("noisy", [False, True])
def test_padded_constant_and_repeated_samples_change_nothing(kind, noisy):
    """24 true samples of 32; the prediction of these is as if the others were not there."""
    x = images().noisy if noisy else images().clean
    padded, plain = make(prior="patient"), make(prior="patient")
    for at in range(0, 96, 24):
        true = x[at : at + 24]
        pad = {
            "zeros": torch.zeros_like(true[:8]),
            "white": torch.ones_like(true[:8]),
            "repeated": true[:8],
            "last again": true[-1:].expand(8, -1, -1, -1),
        }[kind]
        got, expected = padded[0](torch.cat([true, pad]))[:24], plain[0](true)
        torch.testing.assert_close(got, expected, rtol=1e-2, atol=1e-2)
    assert_close(padded[1], plain[1])
    assert padded[1].samples == 96
    one, other = padded[0].method.prior.belief, plain[0].method.prior.belief
    for name in ("last", "marginal", "stay", "evidence"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=2e-3)


def test_a_batch_of_nothing_but_constant_samples_changes_nothing():
    model, levels = make()
    follow(model, images().clean[:64], 32)
    before = deepcopy(everything(levels))
    for value in (0.0, 0.5, 1.0):
        assert torch.isfinite(model(torch.full((20, 3, 32, 32), value))).all()
    for name, value in everything(levels).items():
        assert torch.equal(torch.as_tensor(value), torch.as_tensor(before[name])), name


def test_random_pixels_among_clean_images_are_far_and_do_not_count():
    model, levels = make()
    follow(model, images().clean[:64], 64)
    other = torch.rand(16, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    x = torch.cat([images().clean[64:112], other])
    levels.watch(model.method.predictor, x, lambda: model.method.predict(x))
    assert not levels.counts[48:].any()
    assert levels.counts[:48].float().mean() > 0.9


def in_a_trial():
    """A model in the middle of a trial of single samples, and how many it has seen."""
    model, levels = make()
    for at in range(128):
        model(images().noisy[at : at + 1])
        if levels.trying > 3:
            return model, levels, at + 1
    raise AssertionError("no trial")


def test_saved_in_the_middle_of_a_trial_it_goes_on_bit_for_bit(tmp_path):
    model, levels, seen = in_a_trial()
    model.save(tmp_path)
    again = gotta.load(tmp_path, gotta.models.load("resnet20"))
    for x in images().noisy[seen : seen + 24].split(1):
        assert torch.equal(model(x), again(x))
    other = again.method.statistics
    assert levels.away
    assert all(torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(*(
        each.state_dict().values() for each in (levels, other)
    ), strict=True))  # fmt: skip


@pytest.mark.filterwarnings("ignore:a batch was predicted")
def test_a_step_that_is_undone_in_the_middle_of_a_trial_leaves_no_trace():
    model, levels, seen = in_a_trial()
    before = dict(levels.state_dict())
    outcome = model.step(1e9 * images().noisy[seen : seen + 1])
    assert outcome.diagnostics["undone"]
    assert all(torch.equal(torch.as_tensor(a), torch.as_tensor(b)) for a, b in zip(
        before.values(), levels.state_dict().values(), strict=True
    ))  # fmt: skip


def test_samples_at_home_tell_what_is_no_change():
    """Noisy samples as the home of a network: the same noise is no reason for a trial."""
    model, levels = make()
    x = images().noisy[:64]
    levels.know_home(model.method.predictor, x, lambda: model.method.predict(x))
    assert levels.refused > 1
    levels.in_hand = 0.0
    follow(model, images().noisy[64:192], 64)
    assert levels.trials == 0
    assert is_at_source(levels)


def test_a_trial_that_gives_no_finite_logits_is_no_change_and_spoils_no_later_one():
    model, levels = make()
    x, net, calls = images().noisy[:64], model.method.predictor, []

    def predict():
        calls.append(model.method.predict(x))
        return calls[0] if len(calls) == 1 else Prediction(torch.full_like(calls[0].logits, torch.nan))

    prediction = levels.watch(net, x, predict)
    assert prediction is calls[0]
    levels.learn(prediction.label, 10)
    assert len(calls) == 3
    assert is_at_source(levels)
    assert torch.isfinite(levels.evidence).all()
    levels.refused, levels.since = 0.0, levels.wait
    model(images().noisy[64:128])
    assert levels.away


def test_a_training_method_adapts_on_the_prediction_that_was_given_and_not_on_a_trial(monkeypatch):
    """A trial that changes nothing leaves the same gradient as no trial."""
    x = images().clean[:64]
    with_trial, without = (adapt(gotta.models.load("resnet20"), "tent", statistics="class", prior="none") for _ in "ab")
    levels = with_trial.method.statistics
    levels.refused, levels.in_hand = -1.0, 4.0  # so that anything is tried
    monkeypatch.setattr(WORTH, property(lambda look: look.levels is levels))
    with_trial(x)
    without(x)
    assert (levels.trials, levels.jumps) == (1, 0)
    for one, other in zip(with_trial.model.parameters(), without.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("size", [1, 20])
def test_two_classes_are_enough(size, monkeypatch):
    model = adapt(seeded_net(classes=2), "deskew")
    monkeypatch.setattr(WORTH, property(lambda look: look.counted > 0))
    for seed in range(40):
        x = 4 * torch.rand(size, 3, 8, 8, generator=torch.Generator().manual_seed(seed)) + 2 * (seed > 3)
        assert torch.isfinite(model(x)).all()
    assert model.method.statistics.trials > 0


def test_half_precision_finds_the_same_change():
    net = gotta.models.load("resnet20").half()
    with pytest.warns(NetworkWarning, match="float16"):
        model = adapt(net, prior="none")
    model(images().noisy[:64].half())
    assert model.method.statistics.away
    assert model.method.statistics.mean.dtype == torch.float32


def test_networks_that_answer_for_other_rows_are_one_error():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = seeded_net()

        def forward(self, x):
            return self.net(x).repeat(2, 1)

    with pytest.raises(gotta.GottaError):
        adapt(Twice().eval(), "deskew")(torch.rand(6, 3, 8, 8))


def test_a_trial_is_made_once_for_a_change_and_costs_few_forwards():
    calls = []
    net = gotta.models.load("resnet20").eval()
    net.register_forward_pre_hook(lambda *_: calls.append(1))
    model = adapt(net, prior="none")
    for part in images().noisy[:192].split(64):
        model(part)
    assert len(calls) == 4 + 1 + 1  # held, shallow, all, and with the new level; then each once
    levels = model.method.statistics
    assert isinstance(levels, ClassStatistics)
    assert levels.trials == 1


def test_clean_samples_tell_how_far_a_network_is_off_at_home():
    model = gotta.adapt(gotta.models.load("resnet20"), clean=images().clean[:64])
    levels = model.method.statistics
    seen = levels.samples
    assert 60 <= seen <= 64  # far ones may not count
    assert levels.refused > 0
    assert torch.equal(levels.mean, levels.source_mean)
    home = levels.refused
    follow(model, images().noisy[:128], 64)
    assert levels.away
    model.reset()
    assert (levels.samples, levels.refused) == (seen, home)


def test_clean_samples_for_statistics_that_do_not_look_are_refused():
    with pytest.raises(gotta.GottaError, match="class and gated statistics"):
        gotta.adapt(gotta.models.load("resnet20"), "source", clean=images().clean[:64])


def test_a_change_that_no_trial_believes_teaches_no_signature_and_is_tried_again_soon(monkeypatch):
    """Else the class that noise is taken for would explain the noise, and nothing would seem to have changed."""
    monkeypatch.setattr("gotta.statistics.levels.evidence.Evidence.convinces", lambda self: False)
    model, levels = make()
    follow(model, images().noisy[:64], 64)
    signature, distance = levels.signature, levels.refused
    for at in (64, 128):
        follow(model, images().noisy[at : at + 64], 64)
    assert distance > 1.7
    assert levels.trials == 3
    assert torch.equal(levels.signature, signature)
    assert not levels.taught.any()
    follow(model, images().clean[:64], 64)
    assert levels.taught.sum() > 32


def test_a_trial_may_convince_alone_whatever_earlier_ones_said(monkeypatch):
    """Trucks and planes in noise, in batches of 16, after birds of which nothing good was said."""
    x, labels = images().noisy, images().labels
    skewed = x[(labels == 0) | (labels == 9)][:96]
    against = torch.tensor([400.0, 80.0, 800.0, 1.0, *[40.0] * 30], dtype=torch.float64)
    for alone in (True, False):
        model, levels = make()
        levels.evidence, levels.refused = torch.cat([against, against]), 9.0
        if not alone:
            monkeypatch.setattr("gotta.statistics.levels.evidence.Evidence.convinces_alone", lambda self: False)
        follow(model, skewed[:32], 16)
        assert not levels.away
        assert levels.evidence[[0, len(levels.evidence) // 2]].tolist() == [432, 32]
        follow(model, skewed[32:], 16)
        assert levels.away == alone
