"""What holds for every method, with every memory."""

import copy
import re
from pathlib import Path

import pytest
import torch
from tiny import net_for, seeded_net
from torch import nn

from gotta import GottaError, adapt, list_memories, list_methods
from gotta.methods import methods

CLASSES = 10
DOCS = Path(__file__).parents[2] / "docs" / "methods.md"
EVERY_ROW = {  # settings with which every row is selected
    "pl": {"threshold": 0.0},
    **{name: {"e_margin": 9.0, "d_margin": 2.0} for name in ("eta", "eata", "rdumb")},
    **{name: {"e_margin": 9.0} for name in ("sar", "delta")},
    "deyo": {"e_margin": 9.0, "plpd_threshold": 0.0},
    "tribe": {"margin": 9.0},
}
RUNNING = ("delta", "note", "petta", "resitta", "rotta", "sotta", "tribe")  # predict with running statistics
STILL = ("source", "deskew", "norm", "lame", "t3a", "cache", "cofa", "foa", "neo")  # train nothing
FAST = {
    "cotta": {"copies": 2},
    "energy": {"steps": 2, "buffer_size": 40},
    "foa": {"population": 4},
}  # what takes long and changes nothing here


class ChannelNorm(nn.LayerNorm):
    """LayerNorm over the channels of images."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


NORMS = {"batch": nn.BatchNorm2d, "group": lambda channels: nn.GroupNorm(4, channels), "layer": ChannelNorm}
MEMORIES = [name for name in list_memories() if name != "composed"]
SOME = ["none", "fifo", "fps"]  # which memory it is has nothing to do with the kind of normalisation
CELLS = [
    (method, norm, memory)
    for method in list_methods()
    for norm in NORMS
    for memory in ((MEMORIES if norm == "batch" else SOME) if methods.get(method).uses_memory else ["none"])
    if (method, norm) not in (("norm", "group"), ("norm", "layer")) and method != "foa"  # which takes transformers
]


def batches(count=6, size=16, seed=0, side=8):
    rng = torch.Generator().manual_seed(seed)
    return [torch.rand(size, 3, side, side, generator=rng) for _ in range(count)]


def state_of(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def build(method, memory="none", net=None, **settings):
    memory = memory if methods.get(method).uses_memory else "none"
    capacity = None if memory == "none" else 12
    settings = {"pairing": "safe" if memory != "none" else "paper", **FAST.get(method, {}), **settings}
    return adapt(
        net_for(method) if net is None else net,
        method=method,
        memory=memory,
        capacity=capacity,
        num_classes=CLASSES,
        **settings,
    )


def test_all_methods_are_there():
    assert list_methods() == [
        "cache", "cofa", "cotta", "delta", "deskew", "deyo", "eata", "energy", "eta", "foa", "lame", "neo", "norm",
        "note", "petta", "pl", "rdumb", "resitta", "roid", "rotta", "sar", "shot", "sotta", "source", "t3a", "tent",
        "tribe",
    ]  # fmt: skip


@pytest.mark.parametrize(("method", "norm", "memory"), CELLS)
def test_any_memory_with_any_method(method, norm, memory):
    net = seeded_net(NORMS[norm])
    before = state_of(net)
    model = build(method, memory, net)
    start = state_of(model.model)
    trained = set(model.method.trained)
    for x in batches(5, size=8, side=6):  # three times what the memory holds
        outcome = model.step(x)
        assert outcome.prediction.logits.shape == (8, CLASSES)
        assert torch.isfinite(outcome.prediction.logits).all()
        assert not outcome.prediction.logits.requires_grad
        assert memory == "none" or len(model.memory) <= 12
    moved = {name for name, value in model.model.named_parameters() if not torch.equal(value, start[name])}
    assert moved <= trained
    assert same(state_of(net), before)  # the caller's own network is left alone
    model.reset()
    assert same(state_of(model.model), start)
    assert len(model.memory) == 0


@pytest.mark.parametrize("pairing", ["paper", "memory"])
@pytest.mark.parametrize("method", [name for name in list_methods() if name not in (*STILL, "pl", "sar", "deyo")])
def test_every_training_method_moves_its_parameters(method, pairing):
    model = build(method, "fifo", pairing=pairing, **EVERY_ROW.get(method, {}))
    start = state_of(model.model)
    for x in batches():
        model(x)
    now = state_of(model.model)
    assert {name for name in model.method.trained if not torch.equal(now[name], start[name])} == set(
        model.method.trained
    )
    assert model.method.statistics.name == ("running" if pairing == "memory" or method in RUNNING else "batch")
    shifted = not torch.equal(now["bn1.running_mean"], start["bn1.running_mean"])
    assert shifted == (model.method.statistics.name == "running")


@pytest.mark.parametrize("method", list_methods())
def test_after_a_reset_the_same_stream_gives_the_same_logits(method):
    model = build(method, "fifo")
    first = [model(x) for x in batches()]
    model.reset()
    assert all(torch.equal(a, model(x)) for a, x in zip(first, batches(), strict=True))


@pytest.mark.parametrize("method", list_methods())
def test_works_for_callers_without_gradients(method):
    for quiet in (torch.no_grad, torch.inference_mode):
        model, other = build(method, "fifo"), build(method, "fifo")
        with quiet():
            got = [model(x) for x in batches(3)]
        assert all(torch.equal(a, other(x)) for a, x in zip(got, batches(3), strict=True))


@pytest.mark.parametrize("method", ["cotta", "rotta", "energy"])
def test_the_seed_decides_what_is_drawn(method):
    one, again, other = (build(method, seed=seed, **({"anchor_threshold": 2} if method == "cotta" else {}))
                         for seed in (1, 1, 2))  # fmt: skip
    stream = batches(4)
    for x in stream[:-1]:
        assert torch.equal(one(x), again(x))
        other(x)
    assert not torch.equal(one(stream[-1]), other(stream[-1]))


def test_a_prediction_with_running_statistics_changes_nothing():
    model = build("norm", "fifo")
    before = state_of(model.model)
    model.method.predict(batches(1)[0])
    assert same(state_of(model.model), before)


def test_norm_without_memory_normalises_with_the_batch():
    x = batches(1)[0]
    net = seeded_net()
    expected = copy.deepcopy(net).train()(x)
    torch.testing.assert_close(build("norm", net=net, pairing="paper")(x), expected)


def test_running_statistics_move_by_the_rate_towards_the_memory():
    model = build("norm", "fifo", rate=0.25)
    x = batches(1, size=12)[0]
    model(x)
    seen = model.model.conv1(x)
    mean, variance = seen.mean((0, 2, 3)), seen.var((0, 2, 3))
    torch.testing.assert_close(model.model.bn1.running_mean, 0.25 * mean)
    torch.testing.assert_close(model.model.bn1.running_var, 0.75 + 0.25 * variance)


@pytest.mark.parametrize("method", ["tent", "shot", "eta", "sar", "energy", "cotta", "note", "roid", "sotta"])
def test_with_pairing_memory_the_statistics_move_once_per_adaptation(method):
    """Second forwards (SAR's, the dreams of Energy, the copies of CoTTA) must not move them again."""
    keep = {"lr": 1e-12} | ({"iabn": False, "rate": 0.25} if method == "note" else {})
    model = adapt(seeded_net(), method, "fifo", 12, CLASSES, pairing="memory", **{"rate": 0.25, **keep})
    x = batches(1, size=12)[0]
    model(x)
    mean = model.model.conv1(x).mean((0, 2, 3))
    torch.testing.assert_close(model.model.bn1.running_mean, 0.25 * mean, atol=1e-5, rtol=1e-4)


def test_running_statistics_without_memory_equal_a_fifo_of_one_batch():
    fifo = adapt(seeded_net(), "norm", "fifo", 16, CLASSES)
    none = adapt(seeded_net(), "norm", num_classes=CLASSES, statistics="running", fed_by="batch", rate=0.05)
    for x in batches():
        torch.testing.assert_close(fifo(x), none(x))


def test_rotta_without_memory_equals_a_fifo_of_one_batch_up_to_the_weight_of_ages():
    """Adam forgets the scale of a loss, so ages that are alike for all rows leave no trace beyond rounding."""
    flip = {"augment": lambda x: x.flip(3), "lr": 1e-5}
    fifo = adapt(seeded_net(), "rotta", "fifo", 16, CLASSES, **flip)
    none = adapt(seeded_net(), "rotta", num_classes=CLASSES, pairing="paper", **flip)
    for x in batches():
        torch.testing.assert_close(fifo(x), none(x), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("method", [name for name in list_methods() if name != "foa"])
def test_statistics_fed_by_the_batch_without_a_memory(method):
    """The control `running_statistics`."""
    model = build(method, statistics="running", fed_by="batch", rate=0.1)
    nets = model.method.networks().values()
    before = [net.bn1.running_mean.clone() for net in nets]
    for x in batches(3):
        assert torch.isfinite(model(x)).all()
    assert not any(torch.equal(net.bn1.running_mean, old) for net, old in zip(nets, before, strict=True))


def test_fed_by_batch_leaves_the_memory_out_of_the_statistics():
    fed = adapt(seeded_net(), "norm", "reservoir", 4, CLASSES, fed_by="batch", adapt_every=16)
    plain = adapt(seeded_net(), "norm", num_classes=CLASSES, statistics="running", fed_by="batch")
    for x in batches():
        torch.testing.assert_close(fed(x), plain(x))


def test_which_parameters_are_trained():
    affine = {"bn1.weight", "bn1.bias", "bn2.weight", "bn2.bias"}
    everything = affine | {"conv1.weight", "conv2.weight", "fc.weight", "fc.bias"}
    for method in list_methods():
        expected = set() if method in STILL else everything if method == "cotta" else affine
        assert set(build(method).method.trained) == expected
    assert set(build("pl", preset="tea").method.trained) == everything


def test_sar_leaves_the_top_alone():
    class Stages(nn.Module):
        def __init__(self):
            super().__init__()
            self.denselayer4 = nn.BatchNorm2d(3)  # a name says nothing
            self.blocks = nn.ModuleList(nn.Module() for _ in range(12))
            for block in self.blocks:
                block.norm1 = nn.LayerNorm(4)
            self.norm = nn.LayerNorm(4)

        def forward(self, x):
            return self.denselayer4(x).mean((2, 3))

    trained = set(build("sar", net=Stages()).method.trained)
    names = {"denselayer4"} | {f"blocks.{index}.norm1" for index in range(9)}
    assert trained == {f"{name}.{part}" for name in names for part in ("weight", "bias")}


def counted_rows():
    """The table of forwards and backwards in the docs."""
    row = re.compile(r"^\| `(\w+)`(?: \((\w+)\))? \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)
    found = [(name, case, tuple(map(int, counts))) for name, case, *counts in row.findall(DOCS.read_text())]
    assert {name for name, _, _ in found} == set(list_methods())
    assert len(found) == len(list_methods()) + 1  # cotta has two
    return found


@pytest.mark.parametrize(("method", "case", "counts"), counted_rows())
def test_no_forward_is_done_twice(method, case, counts):
    """Everything is selected here: where nothing is, a method has no backward and SAR no second forward."""
    got = []
    for memory in ("none", "fifo"):
        capacity = 16 if memory == "fifo" else None
        if capacity and not methods.get(method).uses_memory:
            got += got
            continue
        more = {"pairing": "paper", **EVERY_ROW.get(method, {})}
        if case:
            more["anchor_threshold"] = 2.0 if case == "averaged" else 0.0
        model = adapt(net_for(method), method, memory, capacity, CLASSES, **more)
        totals = []
        for x in batches(6):
            model(x)
            totals.append(model.method.cost.summary()["total"])
        # Since the memory is full, and the trial of the first samples is over.
        spent = [totals[5][name] - totals[3][name] for name in ("forwards", "backwards")]
        assert all(count % 2 == 0 for count in spent)
        got += [count // 2 for count in spent]
    assert tuple(got) == counts


def test_a_model_on_which_nothing_would_happen_is_refused_by_name():
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, CLASSES))
    for method in set(list_methods()) - {"source", "cotta", "deskew", "lame", "t3a", "cache", "cofa", "neo"}:
        with pytest.raises(GottaError, match=f"'{method}'.*(none|Expected)"):
            build(method, net=net)
    for method in ("source", "cotta", "deskew", "lame", "t3a", "cache", "cofa", "neo"):
        build(method, net=net)(batches(1)[0])
    for norm in ("group", "layer"):
        with pytest.raises(GottaError, match="would equal 'source'"):
            build("norm", net=seeded_net(NORMS[norm]))


def test_a_model_in_train_mode_is_put_into_evaluation_mode():
    net = seeded_net().train()
    x = batches(1)[0]
    torch.testing.assert_close(build("source", net=net)(x), seeded_net()(x))


def test_energy_gives_the_prediction_after_the_update():
    x = batches(1)[0]
    paper = {"pairing": "paper", "lr": 0.1}
    after, before = build("energy", **paper), build("energy", **paper, score="before")
    first, second = after(x), before(x)
    assert not torch.allclose(first, second)
    torch.testing.assert_close(second, build("norm", pairing="paper")(x))
    torch.testing.assert_close(first, after.method.predict(x).logits)


def test_rotta_weighs_samples_by_their_age_in_units_of_the_capacity():
    settings = {"augment": lambda x: x.flip(3)}
    small, large = (
        adapt(seeded_net(), "rotta", "fifo", size, CLASSES, adapt_every=12, **settings) for size in (12, 24)
    )
    x = batches(1, size=12)[0]
    losses = [model.step(x).diagnostics["loss"] for model in (small, large)]
    assert losses[0] < losses[1]  # the same samples count as older where they fill the whole memory


def test_an_unknown_method_is_told_with_the_nearest():
    with pytest.raises(GottaError, match="Did you mean 'tent'"):
        build("tnet")
