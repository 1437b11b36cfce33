"""Levels that follow changes and not the mix of classes; equal to the slow version; nothing in the network.

Jumps and trials are in `test_changes.py`, on a trained network.
"""

from copy import deepcopy

import numpy as np
import pytest
import torch
from reference.slow_levels import SlowLevels
from tiny import seeded_net
from torch import nn

import gotta
from gotta import GottaError, adapt
from gotta.core.inputs import NetworkWarning
from gotta.statistics import Class, Gated

CLASSES = 4
pytestmark = pytest.mark.filterwarnings("ignore::gotta.priors.OrderWarning")


class Three(nn.Module):
    """Three layers of pixels mixed by a matrix, each with BatchNorm: easy to write by hand."""

    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(0)
        self.mixing = [rng.normal(size=(5, width)) / np.sqrt(width) for width in (3, 5, 5)]
        for at, matrix in enumerate(self.mixing):
            conv = nn.Conv1d(matrix.shape[1], 5, 1, bias=False)
            conv.weight.data = torch.from_numpy(matrix)[:, :, None].float()
            norm = nn.BatchNorm1d(5, affine=False)
            norm.running_mean.normal_(0, 0.1, generator=torch.Generator().manual_seed(at))
            self.add_module(f"conv{at}", conv)
            self.add_module(f"norm{at}", norm)
        self.eval()

    def forward(self, x):
        for at in range(3):
            x = getattr(self, f"norm{at}")(getattr(self, f"conv{at}")(x))
            x = x.relu() if at < 2 else x
        return x

    def slow(self, with_classes, away):
        functions = [lambda x, a=a, at=at: a @ (np.maximum(x, 0) if at else x) for at, a in enumerate(self.mixing)]
        levels = [(n.running_mean.numpy(), n.running_var.numpy()) for n in (self.norm0, self.norm1, self.norm2)]
        return SlowLevels(functions, levels, [0, 0, 1], CLASSES, with_classes, away)


def stream(sizes, seed=0):
    """Batches whose classes come in runs and whose domain changes every 150 samples."""
    rng = np.random.default_rng(seed)
    start = 0
    for size in sizes:
        place = np.arange(start, start + size)
        labels = (place // 20) % CLASSES
        domain = (place // 150) % 3
        x = rng.normal(size=(size, 3, 6)) * (1 + domain)[:, None, None] + 2 * domain[:, None, None]
        yield (x + 0.7 * np.eye(4, 3)[labels][:, :, None]).astype(np.float32), labels
        start += size


def levels_of(net, with_classes=True):
    levels = Class() if with_classes else Gated()
    levels.attach(net)
    return levels


def step(levels, net, x, labels):
    x = torch.as_tensor(x)
    with torch.no_grad(), levels.watching(net), levels.predicting(net):
        out = net(x)
    levels.learn(torch.as_tensor(labels), CLASSES)
    return out


def follow_both(batches, with_classes, tolerance, away=True):
    """The statistics after a stream, and the slow version's; what the network says is the same at every step."""
    net = Three()
    fast, slow = levels_of(net, with_classes), net.slow(with_classes, away)
    fast.away = away
    for x, labels in batches:
        got, expected = step(fast, net, x, labels), slow.forward(x)
        slow.learn(labels)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
        assert len(fast.labels) == len(slow.waiting)
    return fast, slow


def assert_equal(fast, slow, rtol):
    for name in ("mean", "var"):
        expected = np.concatenate([getattr(layer, name) for layer in slow.layers])
        np.testing.assert_allclose(getattr(fast, name), expected, rtol=rtol, atol=1e-3 if name == "mean" else 0)
    np.testing.assert_allclose(fast.noise, np.concatenate([layer.noise for layer in slow.layers], 1), rtol=1e-2)
    if fast.classes:
        for row, name in enumerate(("offset", "square")):
            expected = np.concatenate([getattr(layer, name) for layer in slow.layers], 1)
            np.testing.assert_allclose(fast.signature[row], expected, rtol=1e-2, atol=2e-3)
        np.testing.assert_allclose(fast.mix, slow.mix, atol=1e-6)


@pytest.mark.parametrize("with_classes", [True, False])
@pytest.mark.parametrize("away", [True, False])
@pytest.mark.parametrize("sizes", [[64] * 10, [16] * 30, [1] * 400, [40, 3, 1, 100, 7, 9, 2, 64, 64, 10, 50, 60]])
def test_it_equals_the_slow_version(sizes, away, with_classes):
    fast, slow = follow_both(stream(sizes), with_classes, 2e-3, away)
    assert_equal(fast, slow, rtol=1e-3)
    at_source = torch.equal(fast.mean, fast.source_mean) and torch.equal(fast.var, fast.source_var)
    assert at_source != away
    assert fast.jumps == fast.trials == 0


def harsh(kind):
    """Batches at the ends of what levels allow: dark ones, glaring ones in small pieces, and a domain that stays."""
    rng = np.random.default_rng(3)
    if kind == "unlike":  # one class is dark; at the end it comes alone, and brighter
        for at, size in enumerate([64] * 60 + [8] * 6 + [16] * 6):
            labels = np.arange(size) % CLASSES if at < 60 else np.zeros(size, int)
            strength = np.where(labels == 0, 0.05, 1.0) * (5.0 if at >= 66 else 1.0)
            yield (strength[:, None, None] * rng.normal(size=(size, 3, 6))).astype(np.float32), labels
        return
    if kind == "spiky":  # some samples are so strong that their number in a batch is a matter of chance
        for _ in range(60):
            strength = np.where(rng.random(32) < 0.03, 60.0, 1.0)
            x = strength[:, None, None] * rng.normal(size=(32, 3, 6))
            yield x.astype(np.float32), rng.integers(0, CLASSES, 32)
        return
    sizes, strength = {
        "dark": ([64] * 12, lambda at: 1.0 if at < 3 else 0.001),
        "glaring": ([8] * 40, lambda at: 40.0 if at % 10 in (7, 8) else 1.0),
        "flickering": ([4] * 80, lambda at: 0.1 if at % 9 in (5, 6, 7) else 1.0),
        "alike": ([64] * 8, lambda at: 1.0),
        "long": ([256] * 40, lambda at: 1.0 + 0.002 * at),
    }[kind]
    for at, size in enumerate(sizes):
        x = rng.normal(size=(size, 3, 6)) if kind != "alike" else np.sign(rng.normal(size=(1, 3, 6)))
        yield (strength(at) * (x + np.zeros((size, 1, 1)))).astype(np.float32), rng.integers(0, CLASSES, size)


@pytest.mark.parametrize("with_classes", [True, False])
@pytest.mark.parametrize("kind", ["dark", "glaring", "flickering", "alike", "long", "unlike", "spiky"])
def test_it_equals_the_slow_version_at_its_floors_and_clamps(kind, with_classes):
    fast, slow = follow_both(harsh(kind), with_classes, tolerance=5e-3)
    assert_equal(fast, slow, rtol=2e-3)


def test_the_mix_of_classes_does_not_move_the_level_once_their_signatures_are_known():
    rng, net = np.random.default_rng(2), Three()

    def batch(labels):
        x = rng.normal(size=(len(labels), 3, 30)) + rng.normal(size=(len(labels), 3, 1))
        x += 0.7 * np.eye(4, 3)[labels][:, :, None]
        return x.astype(np.float32), labels

    with_classes, without = levels_of(net), levels_of(net, with_classes=False)
    moved = []
    for levels in (with_classes, without):
        levels.away = True
        for _ in range(150):
            step(levels, net, *batch(rng.integers(0, CLASSES, 64)))
        before = levels.mean[:5].clone()
        for _ in range(8):
            step(levels, net, *batch(np.zeros(64, int)))
        moved.append(float((levels.mean[:5] - before).abs().max()))
    assert moved[0] < moved[1] / 2


def model_and_images(method="norm", **settings):
    x = [torch.rand(24, 3, 8, 8, generator=torch.Generator().manual_seed(seed)) for seed in range(6)]
    return adapt(seeded_net(), method, num_classes=10, **{"statistics": "class", **settings}), x


def frozen_state(model):
    return deepcopy((model.method.statistics.state_dict(), model.method.prior.state_dict()))


def same(a, b):
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list):
        return all(same(*pair) for pair in zip(a, b, strict=True))
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def test_only_the_scored_prediction_of_a_step_moves_anything():
    model, x = model_and_images("tent", prior="sticky", guard="warn", score="after", memory="fpsd", capacity=8)
    model(x[0])
    before = frozen_state(model)
    model.method.predict(x[1])
    model.memory.refresh(model.method.predict)
    model.freeze()
    model(x[2])
    model.unfreeze()
    assert same(before, frozen_state(model))
    model(x[3])
    assert not same(before, frozen_state(model))
    assert 40 < model.method.statistics.samples <= 48  # of random pixels some may be far


def test_a_refused_batch_changes_nothing():
    model, x = model_and_images(prior="sticky")
    model(x[0])
    before = frozen_state(model)
    with pytest.raises(GottaError, match="NaN"):
        model(x[1] / 0)
    with pytest.raises(GottaError, match="does not fit"):
        model(x[1][:, :, :5])
    net = model.method.model
    forward, net.forward = net.forward, lambda batch: forward(batch)[:, :7]
    with pytest.raises(GottaError, match="7"):
        model(x[1])
    assert same(before, frozen_state(model))


@pytest.mark.parametrize("method", ["source", "norm", "tent", "rotta", "note", "cotta", "sar", "energy"])
@pytest.mark.parametrize("statistics", ["class", "gated"])
def test_with_every_method_they_live_outside_the_network(method, statistics):
    settings = {"cotta": {"copies": 2}, "energy": {"steps": 2, "buffer_size": 40}}.get(method, {})
    model, x = model_and_images(method, statistics=statistics, **settings)
    before = [net.bn1.running_mean.clone() for net in model.method.networks().values()]
    for batch in x:
        assert torch.isfinite(model(batch)).all()
    after = [net.bn1.running_mean for net in model.method.networks().values()]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    # Each sample counts once; random pixels may be far from the level that they have led to.
    assert 0.9 * 24 * len(x) < model.method.statistics.samples <= 24 * len(x)


def test_robust_and_instance_aware_layers_take_them_in_place_of_their_buffers():
    plain, x = model_and_images("norm")
    for method in ("rotta", "note"):
        other, _ = model_and_images(method, lr=1e-12, k=1e6) if method == "note" else model_and_images(method, lr=1e-12)
        for batch in x[:3]:
            torch.testing.assert_close(other(batch), plain(batch), atol=1e-3, rtol=1e-3)
        plain.reset()


@pytest.mark.parametrize("size", [1, 5, 24])
def test_saved_in_the_middle_it_goes_on_bit_for_bit(tmp_path, size):
    model, x = model_and_images("deskew")
    rows = torch.cat(x)
    for batch in rows[:72].split(size):
        model(batch)
    model.save(tmp_path)
    again = gotta.load(tmp_path, seeded_net())
    for batch in rows[72:].split(size):
        assert torch.equal(model(batch), again(batch))
    assert same(frozen_state(model), frozen_state(again))


def test_a_reset_brings_back_the_source():
    model, x = model_and_images("deskew")
    start = frozen_state(model)
    first = [model(batch) for batch in x]
    model.reset()
    assert same(start, frozen_state(model))
    assert all(torch.equal(a, model(batch)) for a, batch in zip(first, x, strict=True))


@pytest.mark.parametrize(
    ("layer", "conv", "shape"),
    [
        (nn.BatchNorm1d, nn.Linear, (6,)),
        (nn.BatchNorm1d, nn.Conv1d, (6, 9)),
        (nn.BatchNorm3d, nn.Conv3d, (6, 4, 4, 4)),
        (nn.SyncBatchNorm, nn.Conv2d, (6, 5, 5)),
    ],
)
@pytest.mark.parametrize("size", [1, 20])
def test_any_batch_norm_and_batches_of_any_size(layer, conv, shape, size):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first = conv(6, 8) if conv is nn.Linear else conv(6, 8, 1)
        net = nn.Sequential(first, layer(8), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
        net.eval()(torch.rand(2, *shape))
    model = adapt(net, "deskew")
    for seed in range(25):
        x = 3 + torch.rand(size, *shape, generator=torch.Generator().manual_seed(seed))
        assert torch.isfinite(model(x)).all()
    assert 20 * size <= model.method.statistics.samples <= 25 * size  # far ones may not count


@pytest.mark.bfloat16
def test_channels_last_and_half_precision_see_the_same():
    plain, x = model_and_images()
    last = adapt(seeded_net().to(memory_format=torch.channels_last), "norm", statistics="class")
    with pytest.warns(NetworkWarning, match="bfloat16"):
        half = adapt(seeded_net().bfloat16(), "norm", statistics="class")
    auto, _ = model_and_images()
    for each in (plain, last, half, auto):
        each.method.statistics.away = True
    for batch in x:
        plain(batch)
        last(batch.contiguous(memory_format=torch.channels_last))
        half(batch.bfloat16())
        with torch.autocast("cpu", torch.bfloat16):
            auto(batch)
    levels = plain.method.statistics
    torch.testing.assert_close(last.method.statistics.mean, levels.mean, atol=1e-4, rtol=1e-4)
    for other in (half, auto):
        assert other.method.statistics.mean.dtype == torch.float32
        assert (other.method.statistics.mean - levels.mean).abs().max() < 0.05


def test_a_compiled_network_is_watched_too():
    plain, x = model_and_images()
    with pytest.warns(NetworkWarning, match="runs uncompiled"):
        compiled = adapt(torch.compile(seeded_net(), backend="eager"), "norm", statistics="class")
    plain.method.statistics.away = compiled.method.statistics.away = True
    for batch in x:
        torch.testing.assert_close(compiled(batch), plain(batch))
    assert compiled.method.statistics.samples == plain.method.statistics.samples
    torch._dynamo.reset()


def test_layers_that_are_not_called_stay_and_layers_called_twice_count_once():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.spare = seeded_net(), nn.BatchNorm2d(5)

        def forward(self, x):
            return self.net(x) + self.net(x.flip(3))

    model = adapt(Odd().eval(), "norm", statistics="class")
    _, x = model_and_images()
    for batch in x:
        model(batch)
    levels = model.method.statistics
    assert 0.9 * 24 * len(x) < levels.samples <= 24 * len(x)
    assert torch.equal(levels.mean[-5:], torch.zeros(5))
    assert torch.equal(levels.noise[:, -5:], torch.full((2, 5), 0.1))


def test_the_state_takes_a_few_numbers_per_channel_and_class_and_more_only_while_samples_wait():
    levels, net = levels_of(seeded_net()), seeded_net()
    channels, rest, sizes = 8 + 16, 10 + 10, []
    for count in (32, 16, 5):
        with torch.no_grad(), levels.watching(net), levels.predicting(net):
            net(torch.rand(count, 3, 8, 8, generator=torch.Generator().manual_seed(count)))
        levels.learn(torch.arange(count) % 10, 10)
        sizes.append(levels.num_bytes)
    assert sizes[0] == sizes[1] == 4 * (channels * (2 + 2 + 2 * 10) + rest)
    assert sizes[2] == sizes[0] + 5 * (8 * channels + 8)


def test_small_batches_are_learned_from_together():
    net = Three()
    small, large = levels_of(net), levels_of(net)
    small.away = large.away = True
    batches = list(stream([32] + [16] * 4))
    for x, labels in batches:
        step(large, net, x, labels)
        for part in range(0, len(x), len(x) if not small.samples else 4):
            rows = slice(part, part + (32 if not small.samples else 4))
            before = small.mean
            step(small, net, x[rows], labels[rows])
            assert (small.mean is before) == bool(len(small.labels))
    assert len(small.labels) == 0
    torch.testing.assert_close(small.mean, large.mean)
    torch.testing.assert_close(small.signature, large.signature)


def test_deskew_is_class_statistics_and_the_patient_prior():
    model = adapt(seeded_net(), "deskew")
    assert model.method.statistics.classes
    assert type(model.method.prior).name == "patient"


def test_a_network_without_batch_norm_has_the_prior_alone_and_says_so():
    model = adapt(seeded_net(lambda channels: nn.GroupNorm(4, channels)), "deskew")
    assert not model.method.statistics.sizes
    assert "no BatchNorm" in model.method.notes[0]
    assert "its prior alone" in model.method.notes[0]
    without = adapt(seeded_net(lambda channels: nn.GroupNorm(4, channels)), "deskew", prior="none")
    assert "deskew is the network as it is" in without.method.notes[0]
    assert model(torch.rand(4, 3, 8, 8)).shape == (4, 10)


def test_what_cannot_be_is_one_error():
    with pytest.raises(GottaError, match="follow the samples that are predicted"):
        adapt(seeded_net(), "norm", "fifo", 4, 10, statistics="class", fed_by="memory")
    with pytest.raises(GottaError, match="take no rate"):
        adapt(seeded_net(), "norm", statistics="class", rate=0.1)
    with pytest.raises(GottaError, match=r"statistics 'clas' is unknown\. Did you mean 'class'"):
        adapt(seeded_net(), "norm", statistics="clas")
    with pytest.raises(GottaError, match=r"memory='fps' is for methods that adapt on samples, .* 'deskew'"):
        adapt(seeded_net(), memory="fps", capacity=8)
