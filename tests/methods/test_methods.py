"""What holds for every method, with every memory."""

import copy

import pytest
import torch
from tiny import seeded_net
from torch import nn

from gotta import GottaError, adapt, list_memories, list_methods

CLASSES = 10


def batches(count=6, size=16, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return [torch.rand(size, 3, 8, 8, generator=rng) for _ in range(count)]


def state_of(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def build(method, memory="none", net=None, **settings):
    capacity = None if memory == "none" else 12
    return adapt(net or seeded_net(), method=method, memory=memory, capacity=capacity, num_classes=CLASSES, **settings)


@pytest.mark.parametrize("memory", [name for name in list_memories() if name != "composed"])
@pytest.mark.parametrize("method", list_methods())
def test_any_memory_with_any_method(method, memory):
    net = seeded_net()
    before = state_of(net)
    model = build(method, memory, net)
    start = state_of(model.model)
    trained = set(model.method.trained)
    for x in batches():
        outcome = model.step(x)
        assert outcome.prediction.logits.shape == (16, CLASSES)
        assert torch.isfinite(outcome.prediction.logits).all()
        assert not outcome.prediction.logits.requires_grad
        assert memory == "none" or len(model.memory) <= 12
    moved = {name for name, value in model.model.named_parameters() if not torch.equal(value, start[name])}
    assert moved <= trained
    assert same(state_of(net), before)  # the caller's own network is left alone
    model.reset()
    assert same(state_of(model.model), start)
    assert len(model.memory) == 0


@pytest.mark.parametrize("method", list_methods())
def test_after_a_reset_the_same_stream_gives_the_same_logits(method):
    model = build(method, "fifo")
    first = [model(x) for x in batches()]
    model.reset()
    assert all(torch.equal(a, model(x)) for a, x in zip(first, batches(), strict=True))


@pytest.mark.parametrize("method", list_methods())
def test_state_saved_in_the_middle_continues_the_same(method):
    one, two = build(method), build(method)
    stream = batches()
    for x in stream[:3]:
        one(x)
    two.method.load_state_dict(one.method.state_dict())
    assert all(torch.equal(one(x), two(x)) for x in stream[3:])


@pytest.mark.parametrize("method", list_methods())
def test_works_for_callers_without_gradients(method):
    for quiet in (torch.no_grad, torch.inference_mode):
        model, other = build(method, "fifo"), build(method, "fifo")
        with quiet():
            got = [model(x) for x in batches()]
        assert all(torch.equal(a, other(x)) for a, x in zip(got, batches(), strict=True))


def test_a_prediction_with_running_statistics_changes_nothing():
    model = build("norm", "fifo")
    before = state_of(model.model)
    model.method.predict(batches(1)[0])
    assert same(state_of(model.model), before)


def test_norm_without_memory_normalises_with_the_batch():
    x = batches(1)[0]
    net = seeded_net()
    expected = copy.deepcopy(net).train()(x)
    torch.testing.assert_close(build("norm", net=net)(x), expected)


def test_running_statistics_move_by_the_rate_towards_the_memory():
    model = build("norm", "fifo", rate=0.25)
    x = batches(1, size=12)[0]
    model(x)
    seen = model.model.conv1(x)
    mean, variance = seen.mean((0, 2, 3)), seen.var((0, 2, 3))
    torch.testing.assert_close(model.model.bn1.running_mean, 0.25 * mean)
    torch.testing.assert_close(model.model.bn1.running_var, 0.75 + 0.25 * variance)


def test_running_statistics_without_memory_equal_a_fifo_of_one_batch():
    fifo = adapt(seeded_net(), "norm", "fifo", 16, CLASSES)
    none = adapt(seeded_net(), "norm", num_classes=CLASSES, statistics="running", fed_by="batch", rate=0.05)
    for x in batches():
        torch.testing.assert_close(fifo(x), none(x))


def test_fed_by_batch_leaves_the_memory_out_of_the_statistics():
    fed = adapt(seeded_net(), "norm", "reservoir", 4, CLASSES, fed_by="batch", adapt_every=16)
    plain = adapt(seeded_net(), "norm", num_classes=CLASSES, statistics="running", fed_by="batch")
    for x in batches():
        torch.testing.assert_close(fed(x), plain(x))


def test_pairing_memory_makes_tent_predict_with_running_statistics():
    model = build("tent", "fifo", pairing="memory")
    assert model.method.statistics.source == "running"
    start = model.model.bn1.running_mean.clone()
    for x in batches():
        model(x)
    assert not torch.equal(start, model.model.bn1.running_mean)


def test_tent_trains_affine_parameters_only():
    names = set(build("tent").method.trained)
    assert names == {"bn1.weight", "bn1.bias", "bn2.weight", "bn2.bias"}


def test_tent_on_layer_and_group_norm():
    model = build("tent", net=seeded_net(lambda channels: nn.GroupNorm(4, channels)))
    assert len(model.method.trained) == 4
    assert torch.isfinite(model(batches(1)[0])).all()


@pytest.mark.parametrize(
    ("method", "memory", "forwards", "backwards"),
    [
        ("source", "none", 1, 0),
        ("norm", "none", 1, 0),
        ("norm", "fifo", 2, 0),
        ("tent", "none", 1, 1),
        ("tent", "fifo", 2, 1),
    ],
)
def test_no_forward_is_done_twice(method, memory, forwards, backwards):
    capacity = 16 if memory == "fifo" else None
    model = adapt(seeded_net(), method, memory, capacity, CLASSES)
    for x in batches(5):
        model(x)
    total = model.method.cost.summary()["total"]
    assert (total["forwards"], total["backwards"]) == (5 * forwards, 5 * backwards)


def test_a_model_without_normalisation_is_refused_by_name():
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, CLASSES))
    for method in ("norm", "tent"):
        with pytest.raises(GottaError, match=f"'{method}'.*none"):
            build(method, net=net)
    build("source", net=net)(batches(1)[0])


def test_a_model_in_train_mode_is_put_into_evaluation_mode():
    net = seeded_net().train()
    x = batches(1)[0]
    torch.testing.assert_close(build("source", net=net)(x), seeded_net()(x))


@pytest.mark.parametrize(
    "settings",
    [{"lr": 0.0}, {"lr": -1.0}, {"optimizer": "adm"}, {"learning_rate": 1.0}, {"statistics": "bach"}, {"rate": 0.0},
     {"fed_by": "x"}, {"pairing": "papre"}, {"embedding": "features"}],
)  # fmt: skip
def test_wrong_settings_are_one_clear_error(settings):
    with pytest.raises(GottaError):
        build("tent", "fifo", **settings)(batches(1)[0])


def test_an_unknown_method_is_told_with_the_nearest():
    with pytest.raises(GottaError, match="Did you mean 'tent'"):
        build("tnet")
