"""A memory of moments: equal to the slow version, which recomputes everything from stored samples; keeps no image."""

import numpy as np
import pytest
import torch
from tiny import seeded_net
from torch import nn
from whole_state import frozen_state

import gotta
from gotta import GottaError
from gotta.data import dataset
from gotta.data.corruptions import corrupt
from gotta.memory import policies
from gotta.models import load
from gotta.types import torch_images

CHANNELS = 8 + 16  # of the two BatchNorm layers of the small network
pytestmark = pytest.mark.filterwarnings("ignore::gotta.priors.OrderWarning")


def images(seed, count=16):
    return torch.rand(count, 3, 8, 8, generator=torch.Generator().manual_seed(seed)) * (1 + seed % 3)


def network():
    """Which sees several classes."""
    net = seeded_net()
    with torch.no_grad():
        net.fc.bias -= torch.cat([net(images(seed)) for seed in range(3)]).mean(0)
    return net


def build(memory="fps", capacity=12, **more):
    """A model whose levels move, as after a change of domain."""
    model = gotta.adapt(network(), statistics="moments", memory=memory, capacity=capacity, **more)
    model.method.statistics.away = True
    return model


@pytest.fixture
def without_trials(monkeypatch):
    monkeypatch.setattr("gotta.statistics.levels.look.Look.is_worth_a_trial", False)


def see(net, sample):
    """Mean and mean square of each channel of each layer's input, by hand: [2, P]."""
    found = []
    hooks = [
        layer.register_forward_pre_hook(lambda _, given: found.append(given[0][0].double().flatten(1).numpy()))
        for layer in net.modules()
        if isinstance(layer, nn.BatchNorm2d)
    ]
    with torch.no_grad():
        net(sample[None])
    for hook in hooks:
        hook.remove()
    means, squares = [layer.mean(1) for layer in found], [(layer**2).mean(1) for layer in found]
    return np.stack([np.concatenate(means), np.concatenate(squares)])


class Slow:
    """All samples are kept, with the network that each was predicted with; levels are computed from these."""

    def __init__(self, model):
        levels = model.method.statistics
        self.mean, self.var = levels.mean.double().numpy(), levels.var.double().numpy()
        self.least, self.depth = 0.01 * self.var, np.repeat(levels.depths, levels.sizes)
        self.age, self.mix, self.samples = 0.0, np.full(10, 0.1), []

    def step(self, model, x):
        net = model.fold()
        outcome = model.step(x)
        self.samples += [(net, sample) for sample in x]
        shares = np.bincount(outcome.prediction.label.numpy(), minlength=10) / len(x)
        self.mix += (shares - self.mix) * len(x) / (len(x) + 16)
        self.move(model.memory, len(x))
        return outcome

    def move(self, memory, count):
        held = memory.peek()
        of_class = {}
        for born, label in zip(memory.ids.tolist(), held.label.tolist(), strict=True):
            of_class.setdefault(label, []).append(see(*self.samples[born]))
        votes = {label: len(rows) / (len(rows) + 2) for label, rows in of_class.items()}
        mean, square = sum(votes[label] * np.mean(rows, 0) for label, rows in of_class.items()) / sum(votes.values())
        skew = (10 * (self.mix**2).sum() - 1) / 9
        rate = max(0.01, 1 / (self.age + 1 + 40 * skew)) / (1 + 10 * skew * self.depth)
        rate = (1 - (1 - rate) ** (count / 64)) * sum(votes.values()) / 10
        self.age += count / 64
        self.mean = self.mean + rate * (mean - self.mean)
        self.var = self.var * (np.maximum(square - mean**2, self.least) / self.var) ** rate


@pytest.mark.parametrize("memory", ["fifo", "reservoir", "pbrs", "cstu", "cds", "fps", "fpsd"])
def test_it_equals_the_slow_version(memory, without_trials):
    model = build(memory, prior="none")
    levels, slow = model.method.statistics, Slow(model)
    start = levels.mean
    for seed in range(6):
        slow.step(model, images(seed))
        np.testing.assert_allclose(levels.mean, slow.mean, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(levels.var, slow.var, rtol=1e-3)
    assert (levels.mean - start).abs().max() > 0.02
    assert len(model.memory.peek().label.unique()) > 2


def test_it_keeps_moments_and_no_image(without_trials):
    model = build()
    outcome = model.step(images(0))
    held = model.memory.peek()
    assert held.x.shape == (len(model.memory), 2 * CHANNELS)
    assert outcome.slots.max() < 12
    born, label = model.memory.ids[0], held.label[0]
    np.testing.assert_allclose(held.x[0].reshape(2, -1), see(network(), images(0)[born]), rtol=1e-4, atol=1e-5)
    assert label == outcome.prediction.label[born]


def test_it_takes_one_forward(without_trials):
    model = build()
    spent = [model.step(images(seed)).cost for seed in range(4)]
    assert [(cost["predict"]["forwards"], cost["adapt"]["forwards"]) for cost in spent] == [(1, 0)] * 4


@pytest.mark.parametrize("adapt_every", [1, 5, 16, 40])
def test_it_moves_when_adaptation_is_due(adapt_every, without_trials):
    model, moved = build(adapt_every=adapt_every), []
    levels = model.method.statistics
    for seed in range(5):
        before = levels.mean
        moved.append((model.step(images(seed)).adaptations, not torch.equal(before, levels.mean)))
    turns = [16 * (at + 1) // adapt_every - 16 * at // adapt_every for at in range(5)]
    assert moved == [(count, count > 0) for count in turns]
    assert levels.unread == 80 % adapt_every


def test_samples_that_belong_to_nothing_are_not_stored(without_trials):
    model, x = build(), images(0)
    x[::2] = 0.5
    slots = model.step(x).slots
    assert (slots[::2] == -1).all()
    assert set((model.memory.ids * 2 + 1).tolist()) <= set(range(1, 16, 2))


def test_a_batch_of_nothing_changes_no_level(without_trials):
    model = build()
    before = model.method.statistics.mean
    model(torch.full((8, 3, 8, 8), 0.5))
    assert len(model.memory) == 0
    assert torch.equal(before, model.method.statistics.mean)


@pytest.fixture(scope="module")
def seen():
    """Clean images and noisy ones, 128 of each."""
    bundled = dataset("cifar10-mini")
    rows = np.random.default_rng(0).permutation(len(bundled.labels))[:128]
    clean = np.asarray(bundled.images("clean", rows))
    return torch_images(clean), torch_images(corrupt(clean, "gaussian_noise", 5, index=rows))


def test_a_change_of_domain_empties_the_memory_and_at_home_nothing_moves(seen):
    model = gotta.adapt(load("resnet20"), statistics="moments", memory="fps", capacity=40, prior="none")
    plain, levels = gotta.adapt(load("resnet20"), prior="none"), model.method.statistics
    for x in seen[0].split(64):
        assert torch.equal(model(x), plain(x))
    assert torch.equal(levels.mean, levels.source_mean)
    assert len(model.memory) > 20
    first, before = seen[1][:64], set(model.memory.ids.tolist())
    assert torch.equal(model(first), plain(first))  # the jump is that of class statistics
    assert levels.away
    assert len(model.memory) > 20
    assert not before & set(model.memory.ids.tolist())
    assert not torch.equal(levels.mean, plain.method.statistics.mean)


@pytest.mark.parametrize("memory", sorted(policies.names()))
def test_it_is_saved_and_goes_on(memory, tmp_path, without_trials):
    model = build(memory, None if memory == "none" else 12)
    for seed in range(3):
        model(images(seed))
    model.save(tmp_path / "state")
    again = gotta.load(tmp_path / "state", network())
    for seed in range(3, 6):
        assert torch.equal(again(images(seed)), model(images(seed)))
    assert frozen_state(again) == frozen_state(model)
    model.reset()
    assert not model.method.statistics.away
    assert len(model.memory) == 0


def test_a_step_that_fails_is_taken_back_as_a_whole(monkeypatch, without_trials):
    model = build()
    model(images(0))
    before, levels = frozen_state(model), model.method.statistics
    monkeypatch.setattr(levels, "_pace", lambda count: levels.mean * float("nan"))
    with pytest.warns(gotta.core.undo.UndoneWarning):
        assert model.step(images(1)).diagnostics["undone"]
    assert frozen_state(model)[1].keys() == before[1].keys()
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("net", "settings", "text"),
    [
        (
            seeded_net(),
            {"method": "tent"},
            "'tent' adapts on samples, and with statistics='moments' the memory holds none",
        ),
        (seeded_net(lambda width: nn.GroupNorm(2, width)), {}, "BatchNorm layers, and this model has none"),
    ],
)
def test_what_cannot_be_is_refused(net, settings, text):
    with pytest.raises(GottaError, match=text):
        gotta.adapt(net, statistics="moments", memory="fps", capacity=8, **settings)
