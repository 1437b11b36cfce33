"""Inputs and models at the edge of what a method is defined for."""

from math import nextafter

import pytest
import torch
from tiny import net_for, seeded_net
from torch import nn
from torch.nn import functional as F

from gotta import GottaError, adapt, list_methods
from gotta.methods import methods

CLASSES = 10
FAST = {"cotta": {"copies": 2}, "energy": {"steps": 2, "buffer_size": 40}, "foa": {"population": 4}}
EVERY = pytest.mark.parametrize("method", list_methods())
EVERY_ON_ANY_NETWORK = pytest.mark.parametrize("method", sorted(set(list_methods()) - {"foa"}))  # takes transformers


def images(count=3, size=16, seed=0, shape=(3, 8, 8)):
    rng = torch.Generator().manual_seed(seed)
    return [torch.rand(size, *shape, generator=rng) for _ in range(count)]


def build(method, net=None, memory="none", capacity=None, **settings):
    settings = {"pairing": "safe" if memory != "none" else "paper", **FAST.get(method, {}), **settings}
    if not methods.get(method).uses_memory:
        memory, capacity = "none", None
    return adapt(net_for(method) if net is None else net, method, memory, capacity, CLASSES, **settings)


def run(model, stream):
    for x in stream:
        logits = model(x)
        assert logits.shape == (len(x), CLASSES)
        assert torch.isfinite(logits).all()
    assert all(torch.isfinite(value).all() for value in model.model.state_dict().values())
    return logits


@EVERY
def test_a_memory_of_one_row(method):
    run(build(method, memory="fifo", capacity=1, adapt_every=8), images(4))


@EVERY_ON_ANY_NETWORK
def test_a_memory_of_one_row_and_maps_of_one_pixel(method):
    """Such a row has no statistics: nothing breaks, the others stay."""
    net = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, CLASSES))
    settings = {"augment": lambda x: x + 0.1} if "augment" in methods.get(method).inputs else {}
    run(build(method, net, "fifo", 1, adapt_every=8, **settings), images(4, shape=(6,)))


@EVERY
@pytest.mark.parametrize("pairing", ["paper", "memory"])
def test_one_sample_at_a_time(method, pairing):
    model = build(method, memory="fifo", capacity=4, pairing=pairing)
    if method != "source" and model.method.statistics.name == "batch":
        with pytest.raises(GottaError, match="one sample"):
            model(images(1, size=1)[0])
    else:
        run(model, images(9, size=1))


@pytest.mark.parametrize("method", sorted(set(list_methods()) - {"norm", "foa"}))
def test_one_sample_at_a_time_without_batch_norm(method):
    run(build(method, seeded_net(lambda channels: nn.GroupNorm(4, channels))), images(4, size=1))


@EVERY
def test_a_batch_of_equal_images(method):
    x = images(1, size=1)[0].expand(16, -1, -1, -1)
    run(build(method, memory="cstu", capacity=20), [x, x, x])


@pytest.mark.parametrize(
    ("method", "nothing"),
    [("pl", {"threshold": 1.0}), ("eta", {"e_margin": 0.0}), ("eata", {"d_margin": 0.0}), ("sar", {"e_margin": 0.0})],
)
@pytest.mark.parametrize("memory", ["none", "fifo"])
def test_an_empty_selection_moves_nothing(method, nothing, memory):
    model = build(method, memory=memory, capacity=None if memory == "none" else 16, pairing="paper")
    model.method.hyper.__dict__.update({"threshold": 0.0, "e_margin": 9.0, "d_margin": 9.0})
    run(model, images(2))
    assert model.method.optimizer.state  # there is momentum that could move parameters
    model.method.hyper.__dict__.update(nothing)
    before = model.method.state_dict()
    diagnostics = model.step(images(1, seed=5)[0]).diagnostics
    after = model.method.state_dict()
    assert "loss" not in diagnostics
    assert all(value == value for value in diagnostics.values())
    for name, value in before["model"].items():
        assert torch.equal(value, after["model"][name])
    for index, held in before["optimizer"].items():
        assert all(
            torch.equal(value, after["optimizer"][index][name]) for name, value in held.items() if value is not None
        )


@pytest.mark.parametrize("method", ["pl", "sar"])
def test_the_published_step_on_an_empty_selection_moves_by_momentum(method):
    model = build(method, quirks="published")
    model.method.hyper.__dict__.update({"threshold": 0.0, "e_margin": 9.0})
    run(model, images(2))
    before = model.model.bn1.weight.clone()
    model.method.hyper.__dict__.update({"threshold": 1.0, "e_margin": 0.0})
    run(model, images(1, seed=5))
    assert not torch.equal(before, model.model.bn1.weight)


@EVERY_ON_ANY_NETWORK
def test_channels_last(method):
    plain, last = build(method), build(method, seeded_net().to(memory_format=torch.channels_last))
    for x in images():
        logits = plain(x)
        torch.testing.assert_close(last(x.to(memory_format=torch.channels_last)), logits, atol=2e-3, rtol=2e-3)


@pytest.mark.bfloat16
@EVERY
def test_half_precision_by_autocast(method):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = run(build(method, memory="fps", capacity=12), images())
    assert logits.dtype == torch.bfloat16  # what the network itself gives there


@pytest.mark.parametrize(
    ("layer", "conv", "shape"),
    [
        (nn.BatchNorm1d, nn.Conv1d, (3, 12)),
        (nn.BatchNorm2d, nn.Conv2d, (3, 6, 6)),
        (nn.BatchNorm3d, nn.Conv3d, (3, 4, 4, 4)),
    ],
)
@EVERY_ON_ANY_NETWORK
def test_batch_norm_of_any_dimension(method, layer, conv, shape):
    net = nn.Sequential(conv(3, 8, 3, padding=1), layer(8), nn.ReLU(), nn.Flatten(), nn.LazyLinear(CLASSES))
    net(torch.rand(2, *shape))
    settings = {"augment": lambda x: x.flip(2)} if "augment" in methods.get(method).inputs else {}
    run(build(method, net, "fifo", 8, **settings), images(shape=shape))


@pytest.mark.parametrize("method", ["rotta", "cotta"])
def test_the_random_augmentation_asks_for_images(method):
    net = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.Linear(12, CLASSES))
    with pytest.raises(GottaError, match="augment="):
        run(build(method, net, **({"anchor_threshold": 2.0} if method == "cotta" else {})), images(1, shape=(6,)))


class Wrapped(nn.Module):
    def __init__(self, wrap):
        super().__init__()
        self.net, self.wrap = seeded_net(), wrap

    def forward(self, x):
        return self.wrap(self.net(x))


@EVERY_ON_ANY_NETWORK
@pytest.mark.parametrize(
    "wrap",
    [
        lambda logits: (logits, None),
        lambda logits: [logits],
        lambda logits: {"logits": logits, "loss": None},
    ],
)
def test_models_that_return_more_than_logits(method, wrap):
    wrapped, plain = build(method, Wrapped(wrap)), build(method, Wrapped(lambda logits: logits))
    for x in images():
        given = wrapped(x)
        assert type(given) is type(wrap(x))
        assert torch.equal(given["logits" if isinstance(given, dict) else 0], plain(x))


def test_an_output_without_logits_is_told():
    for wrap in (lambda logits: {"scores": logits}, lambda logits: "cat", lambda logits: ()):
        with pytest.raises(GottaError, match="logits"):
            build("source", Wrapped(wrap))(images(1)[0])


class Shared(nn.Module):
    """One BatchNorm used in two places."""

    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm2d(8)
        self.first, self.again = nn.Conv2d(3, 8, 3), nn.Sequential(self.bn, nn.ReLU(), nn.Conv2d(8, 8, 3))
        self.fc = nn.Linear(8, CLASSES)

    def forward(self, x):
        return self.fc(self.bn(self.again(self.bn(self.first(x)))).mean((2, 3)))


@EVERY_ON_ANY_NETWORK
def test_shared_modules_are_adapted_once(method):
    model = build(method, Shared(), "fifo", 16)
    run(model, images())
    assert model.model.bn is model.model.again[0]
    if method not in ("source", "norm", "cotta", "deskew", "lame", "t3a", "cache", "cofa", "neo"):
        assert set(model.method.trained) == {"bn.weight", "bn.bias"}


def test_what_the_user_froze_and_the_method_does_not_train_stays():
    net = seeded_net()
    net.fc.requires_grad_(False)
    model = build("tent", net)
    run(model, images())
    assert not model.model.fc.weight.requires_grad
    assert torch.equal(model.model.fc.weight, net.fc.weight)


def test_dropout_stays_off():
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Dropout(0.9), nn.LazyLinear(CLASSES))
    net(torch.rand(2, 3, 8, 8))
    x = images(1)[0]
    for method in ("norm", "tent", "rotta", "cotta"):
        assert torch.equal(build(method, net.train())(x), build(method, net.train())(x))


def test_numbers_that_overflow_do_not_step():
    """A loss that is not finite is left out; the parameters stay as they were."""
    model = build("tent")
    before = model.model.bn1.weight.clone()
    model.method.training_logits = lambda x: torch.full((16, CLASSES), float("nan"), requires_grad=True)
    model.method.adapt(model.memory.peek() if len(model.memory) else _batch())
    assert torch.equal(before, model.model.bn1.weight)


def _batch():
    model = build("source")
    model(images(1)[0])
    return model.memory.peek()


def test_features_of_a_teacher():
    class Featured(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = seeded_net()

        def features(self, x):
            return F.relu(self.net.bn1(self.net.conv1(x))).mean((2, 3))

        def classify(self, features):
            return features @ torch.ones(8, CLASSES)

        def forward(self, x):
            return self.classify(self.features(x))

    for method in ("rotta", "cotta"):
        outcome = build(method, Featured(), "fps", 12, embedding="features").step(images(1)[0])
        assert outcome.prediction.embedding.shape == (16, 8)


@EVERY
def test_made_in_inference_mode(method):
    outside = build(method)
    with torch.inference_mode():
        inside = build(method, net_for(method))
        got = [inside(x) for x in images()]
    assert all(torch.equal(a, outside(x)) for a, x in zip(got, images(), strict=True))


@EVERY
def test_moved_to_another_precision(method):
    """All networks of a method move with the adapted model, as they must with a device."""
    model = build(method, memory="fifo", capacity=16).double()
    assert run(model, [x.double() for x in images()]).dtype == torch.float64
    assert all(p.dtype == torch.float64 for net in model.method.networks().values() for p in net.parameters())


@pytest.mark.filterwarnings("ignore::gotta.core.inputs.NetworkWarning")
@pytest.mark.parametrize("method", ["norm", "tent", "rotta"])
def test_a_compiled_model(method):
    settings = {"augment": lambda x: x.flip(3)} if method == "rotta" else {}
    plain, compiled = build(method, **settings), build(method, torch.compile(seeded_net(), backend="eager"), **settings)
    for x in images():
        torch.testing.assert_close(compiled(x), plain(x), atol=1e-5, rtol=1e-5)


def test_sar_recovers_below_its_bar_and_not_at_it():
    (x,) = images(1)
    settings = {"e_margin": 10.0, "pairing": "paper"}
    ema = build("sar", **settings).step(x).diagnostics["ema"]
    for bar, recovered in ((ema, 0.0), (nextafter(ema, 10.0), 1.0)):
        assert build("sar", recover_below=bar, **settings).step(x).diagnostics["recovered"] == recovered
