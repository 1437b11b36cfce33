"""Many streams through one network give what one model for each stream would."""

import copy
import pickle
from functools import cache

import numpy as np
import pytest
import torch
from tiny import seeded_net
from torch import nn
from whole_state import frozen_state

import gotta
import gotta.models
from gotta.core import streams as core_streams
from gotta.data import dataset
from gotta.data.corruptions import corrupt
from gotta.errors import GottaError
from gotta.memory import Memory
from gotta.models.backbone import Input
from gotta.models.vit import VisionTransformer
from gotta.statistics import Class, Source, Statistics

pytestmark = pytest.mark.filterwarnings("ignore::gotta.priors.OrderWarning")
SETTINGS = [
    {"method": "source"},
    {"method": "source", "prior": "sticky"},
    {"method": "source", "statistics": "gated", "prior": "ema"},
    {"method": "source", "statistics": "class"},
    {"method": "deskew"},
    {"method": "norm", "statistics": "running", "fed_by": "batch"},
    {"method": "norm", "memory": "fifo", "capacity": 8},
    {"method": "norm", "memory": "fps", "capacity": 8, "prior": "patient", "adapt_every": 4},
    {"method": "deskew", "statistics": "moments", "memory": "fps", "capacity": 8},
    {"method": "t3a"},
    {"method": "lame"},
    {"method": "cofa"},
    {"method": "cache"},
]
SHARED = {"method": "deskew", "statistics": Class(signatures="shared")}


def name(settings):
    return "-".join(getattr(value, "signatures", str(value)) for value in settings.values())


def batches(streams=4, steps=6, of_each=4, seed=0):
    """Samples of several streams in an order that means nothing; each stream has a look of its own."""
    rng, order = torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    for _ in range(steps):
        keys = order.permutation(np.repeat(np.arange(streams), of_each)).tolist()
        look = torch.tensor(keys)[:, None, None, None]
        yield torch.rand(len(keys), 3, 8, 8, generator=rng) * (0.5 + 0.3 * look) + 0.2 * look, keys


def rows_of(keys):
    """The samples of each stream."""
    return {key: [row for row, other in enumerate(keys) if other == key] for key in dict.fromkeys(keys)}


def compare(make, given):
    """One model for all streams and one for each, and the largest difference between their logits."""
    together, alone, off = make(), {}, 0.0
    for x, keys in given:
        logits = together(x, stream=keys)
        for key, rows in rows_of(keys).items():
            if key not in alone:
                alone[key] = make()
            off = max(off, float((alone[key](x[rows]) - logits[rows]).abs().max()))
    return off, together, alone


@pytest.mark.parametrize(("of_each", "steps"), [(1, 24), (5, 8), (20, 4)])
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: "-".join(map(str, settings.values())))
def test_one_model_for_all_streams_gives_what_one_for_each_would(settings, of_each, steps):
    off, together, alone = compare(lambda: gotta.adapt(seeded_net(), **settings), batches(of_each=of_each, steps=steps))
    assert off < 1e-4
    assert sorted(together.streams) == sorted(alone) == [0, 1, 2, 3]
    for key, held in together.held_streams.items():
        assert held.counters == {name: getattr(alone[key], name) for name in held.counters}
        assert len(held.memory) == len(alone[key].memory)


def levels_of(held):
    return held.statistics


def test_one_stream_with_shared_signatures_is_as_without():
    own, shared = gotta.adapt(seeded_net(), "deskew"), gotta.adapt(seeded_net(), **SHARED)
    for x, _ in batches(of_each=3, steps=12):
        assert torch.equal(own(x, stream="a"), shared(x, stream="a"))


def test_signatures_are_own_or_shared():
    with pytest.raises(GottaError, match="signatures"):
        Class(signatures="ours")


@cache
def network():
    return gotta.models.load("resnet20").eval().requires_grad_(False)


@cache
def cameras():
    """Of three cameras 96 images each: one clean, two with a fault of their own."""
    bundled = dataset("cifar10-mini")
    rows = np.random.default_rng(0).permutation(len(bundled.labels))[:96]
    clean = bundled.images("clean", rows)
    seen = [clean, corrupt(clean, "gaussian_noise", 5, index=rows), corrupt(clean, "contrast", 5, index=rows)]
    return [torch.from_numpy(np.ascontiguousarray(x)).permute(0, 3, 1, 2).float().div(255) for x in seen]


def test_shared_signatures_are_learned_by_all_streams_and_kept_once():
    own, shared = gotta.adapt(network()), gotta.adapt(network(), **SHARED)
    for x in torch.split(cameras()[0], 48):
        for model in (own, shared):
            model(x, stream=["hall"] * 24 + ["gate"] * 24)
    each, both = ([levels_of(held) for held in model.held_streams.values()] for model in (own, shared))
    assert each[0].signature is not each[1].signature
    assert both[0].signature is both[1].signature is levels_of(shared.method).signature
    assert 0 < each[0].taught.sum() < both[0].taught.sum()
    less = sum(getattr(each[0], name).nbytes for name in ("signature", "taught"))
    sizes = [next(iter(model.held_streams.values())).num_bytes for model in (own, shared)]
    assert sizes[0] - sizes[1] == less > 0
    with both[0].watching(shared.model):  # what the other stream has taught since is expected of the next sample
        assert torch.equal(both[0].expected, both[0].expect(both[0].mix))
    taught = both[0].taught
    shared.forget("hall")
    assert levels_of(shared.method).taught is taught
    shared.reset()
    assert len(levels_of(shared.method).taught) == 0


def test_streams_of_foa_search_for_prompts_of_their_own():
    clean = torch.rand(12, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    given = [(torch.nn.functional.interpolate(x, size=16), keys) for x, keys in batches(streams=2, steps=3)]

    def make():
        torch.manual_seed(0)
        net = VisionTransformer(4, 24, 3, 3, 2.0, 10, Input(16)).eval()
        return gotta.adapt(net, "foa", num_classes=10, source_data=clean, population=3)

    off, together, _ = compare(make, given)
    assert off < 1e-4
    bests = [held.remembered["best"] for held in together.held_streams.values()]
    assert not torch.allclose(*bests)


@pytest.mark.parametrize("statistics", ["class", "gated"])
@pytest.mark.parametrize("of_each", [4, 32])
def test_a_change_of_domain_is_found_in_the_streams_that_have_one(statistics, of_each):
    names = [name for name in ("hall", "gate", "yard") for _ in range(of_each)]
    given = [
        (torch.cat([x[at : at + of_each] for x in cameras()]), names) for at in range(0, len(cameras()[0]), of_each)
    ]
    off, together, alone = compare(lambda: gotta.adapt(network(), statistics=statistics), given)
    assert off < 1e-3
    away = {key: held.statistics.away for key, held in together.held_streams.items()}
    assert away == {key: model.method.statistics.away for key, model in alone.items()}
    assert not away["hall"]
    assert away["gate"]


def test_samples_of_several_streams_are_one_forward():
    x, keys = next(batches())
    for settings in SETTINGS[:9]:
        spent = gotta.adapt(seeded_net(), **settings).step(x, stream=keys).cost["predict"]
        assert (spent["forwards"], spent["samples"]) == (1, len(x))
    batch = gotta.adapt(seeded_net(), "norm", statistics="batch")
    assert batch.step(x, stream=keys).cost["predict"]["forwards"] == 4


@pytest.mark.parametrize("settings", [{"method": "deskew"}, SHARED, *SETTINGS[5:8]], ids=name)
def test_streams_are_saved_and_restored_whole(settings, tmp_path):
    model, given = gotta.adapt(seeded_net(), **settings), list(batches(steps=8))
    for x, keys in given[:4]:
        model(x, stream=[f"camera {key}" if key else key for key in keys])
    model.save(tmp_path / "state")
    again = gotta.load(tmp_path / "state", seeded_net())
    copies = [again, copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    assert [found.streams for found in copies] == [model.streams] * 3
    assert [frozen_state(found) for found in copies] == [frozen_state(model)] * 3
    for x, keys in given[4:]:
        names = [f"camera {key}" if key else key for key in keys]
        logits = model(x, stream=names)
        assert all(torch.equal(found(x, stream=names), logits) for found in copies)


@pytest.mark.parametrize(
    "settings", [*SETTINGS[4:8], SHARED, {"method": "tent", "memory": "fifo", "capacity": 8}], ids=name
)
def test_a_step_comes_whole_or_not_at_all_for_all_its_streams(settings, monkeypatch):
    model, given = gotta.adapt(seeded_net(), **settings), list(batches(steps=4))
    for x, keys in given[:2]:
        model(x, stream=keys)
    before, (x, keys), calls = frozen_state(model), given[2], []
    take, keys = type(model).take, [key + 2 for key in keys]  # two streams that are known and two that are new

    def fail(self, *arguments):
        calls.append(1)
        outcome = take(self, *arguments)
        if len(calls) == 4:
            raise RuntimeError("a fault after the last stream")
        return outcome

    monkeypatch.setattr(type(model), "take", fail)
    with pytest.raises(GottaError, match="a fault"):
        model(x, stream=keys)
    monkeypatch.undo()
    assert frozen_state(model) == before
    logits = model(x, stream=keys)
    other = gotta.adapt(seeded_net(), **settings)
    for earlier, names in given[:2]:
        other(earlier, stream=names)
    assert torch.equal(other(x, stream=keys), logits)


def test_a_stream_whose_step_is_undone_does_not_undo_the_others():
    model, (x, keys) = gotta.adapt(seeded_net(), "deskew"), next(batches())
    model(x, stream=keys)
    broken = x.clone()
    broken[[key == 1 for key in keys]] *= 1e6
    before = {key: held.counters["offered"] for key, held in model.held_streams.items()}
    with pytest.warns(gotta.core.undo.UndoneWarning):
        outcome = model.step(broken, stream=keys)
    assert [key for key, told in outcome.streams.items() if told.get("undone")] == [1]
    assert outcome.diagnostics == {"undone": 1.0}
    after = {key: held.counters["offered"] for key, held in model.held_streams.items()}
    assert after == {key: number + 4 * (key != 1) for key, number in before.items()}


def test_reset_and_forget():
    (x, keys), model = next(batches()), gotta.adapt(seeded_net(), "norm", statistics="running", fed_by="batch")
    first = model(x, stream=keys)
    assert not torch.equal(model(x, stream=keys), first)
    assert model.forget(2)
    assert not model.forget(2)
    assert 2 not in model.streams
    again, own = model(x, stream=keys), [key == 2 for key in keys]
    assert torch.allclose(again[own], first[own], atol=1e-6)
    model.reset()
    assert model.streams == []
    assert torch.allclose(model(x, stream=keys), first, atol=1e-6)


def test_the_nameless_stream_is_none_of_the_others():
    model, alone, (x, keys) = gotta.adapt(seeded_net(), "deskew"), gotta.adapt(seeded_net(), "deskew"), next(batches())
    for _ in range(3):
        model(x, stream=keys)
        assert torch.equal(model(x), alone(x))
    assert len(model.streams) == 4
    assert "4 streams with a name, of at most 1,000" in repr(model)


def test_frozen_streams_stay_as_they_are():
    model, (x, keys) = gotta.adapt(seeded_net(), "deskew"), next(batches())
    model(x, stream=keys)
    model.freeze()
    state, logits = frozen_state(model), model(x, stream=keys)
    assert torch.equal(model(x, stream=keys), logits)
    assert frozen_state(model) == state


def test_the_least_recently_used_stream_is_dropped():
    model, x = gotta.adapt(seeded_net(), streams=2), torch.rand(4, 3, 8, 8)
    for name in ("a", "b", "a", "c"):
        model(x, stream=name)
    assert model.streams == ["a", "c"]
    with pytest.raises(GottaError, match="of 3 streams, and at most 2"):
        model(x, stream=["a", "b", "c", "c"])
    assert model.streams == ["a", "c"]


def test_idle_streams_are_dropped(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(core_streams, "monotonic", lambda: now[0])
    model, x = gotta.adapt(seeded_net(), idle=60), torch.rand(4, 3, 8, 8)
    for second, name in [(0, "a"), (50, "b"), (100, "c"), (111, "c")]:
        now[0] = second
        model(x, stream=name)
    assert model.streams == ["c"]


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (1.5, "a whole number or a text"),
        (True, "named by a whole number or a text"),
        ("", "not empty"),
        (["a", "", "a", "b"], "not empty"),
        ([1, None, 2, 3], "named by a whole number .* .got NoneType"),
        ([1, 2, 3], "3 streams for 4 samples"),
        (torch.zeros(4), "got float"),
        (b"gate", "got bytes"),
        ({"a": 1}, "got dict"),
        ([[1], [2], [3], [4]], "got list"),
    ],
)
def test_bad_names_are_refused_and_nothing_is_lost(stream, said):
    model, x = gotta.adapt(seeded_net()), torch.rand(4, 3, 8, 8)
    model(x, stream="gate")
    before = frozen_state(model)
    with pytest.raises(GottaError, match=said):
        model(x, stream=stream)
    assert frozen_state(model) == before


def test_names_may_be_arrays_and_tensors():
    model, x = gotta.adapt(seeded_net()), torch.rand(4, 3, 8, 8)
    model(x, stream=np.array(["a", "b", "a", "b"]))
    model(x, stream=torch.tensor([1, 2, 1, 2]))
    model(x, stream=np.array([1, 2, 1, 2]))
    model(x, stream=np.int64(7))
    assert model.streams == ["a", "b", 1, 2, 7]
    assert [type(name) for name in model.streams] == [str, str, int, int, int]


@pytest.mark.parametrize("settings", [{"streams": 0}, {"streams": True}, {"streams": 1.5}, {"idle": 0}, {"idle": "1"}])
def test_bad_limits_are_refused(settings):
    with pytest.raises(GottaError, match=next(iter(settings))):
        gotta.adapt(seeded_net(), **settings)


def test_what_does_not_go_with_streams_is_refused(tmp_path):
    x = torch.rand(4, 3, 8, 8)
    with pytest.raises(GottaError, match=r"guard=.* serves one stream"):
        gotta.adapt(seeded_net(), guard="warn")(x, stream="a")
    with pytest.raises(GottaError, match="one sample in this batch"):
        gotta.adapt(seeded_net(), "norm", statistics="batch")(x, stream=["a", "a", "a", "b"])
    filed = Memory("fifo", 8, 10, storage=tmp_path / "pixels")
    with pytest.raises(GottaError, match=r"storage=.* serves one stream"):
        gotta.adapt(seeded_net(), "tent", filed)(x, stream="a")


@pytest.mark.parametrize("method", ["tent", "rotta", "note"])
def test_methods_with_gradients_share_their_weights(method):
    model = gotta.adapt(seeded_net(), method, "fifo", capacity=8, adapt_every=4)
    start = [parameter.clone() for parameter in model.method.changing()]
    for x, keys in batches(steps=4):
        assert model(x, stream=keys).isfinite().all()
    now = model.method.changing()
    assert not all(map(torch.equal, start, now))
    memories = [held.memory for held in model.held_streams.values()]
    assert [len(memory) for memory in memories] == [8] * 4
    assert len({float(memory.peek().x.mean()) for memory in memories}) == 4
    assert len(model.memory) == 0
    model.reset()
    assert all(map(torch.equal, start, now))


class TwoInputs(nn.Module):
    """A network with something beside each sample, that gives more than logits."""

    def __init__(self):
        super().__init__()
        self.net = seeded_net()

    def forward(self, image, bias, gain=1.0):
        logits = self.net(image) * gain + bias[:, None]
        return {"logits": logits, "loss": logits.mean(), "bias": bias}


@pytest.mark.parametrize("statistics", ["class", "batch"])
def test_what_the_network_takes_and_gives_follows_its_sample(statistics):
    def make():
        return gotta.adapt(TwoInputs(), "norm", statistics=statistics)

    together, alone = make(), {}
    for x, keys in batches(steps=3):
        bias = torch.arange(len(x)).float()
        output = together(x, bias, gain=2.0, stream=keys)
        assert torch.equal(output["bias"], bias)
        for key, rows in rows_of(keys).items():
            found = alone.setdefault(key, make())(x[rows], bias[rows], gain=2.0)
            assert torch.allclose(found["logits"], output["logits"][rows], atol=1e-4)


class Frames(nn.Module):
    """A network that takes clips and normalises their frames."""

    def __init__(self):
        super().__init__()
        self.net = seeded_net()

    def forward(self, clips):
        return self.net(clips.flatten(0, 1)).unflatten(0, clips.shape[:2]).mean(1)


def test_a_network_whose_layers_see_other_rows_has_a_forward_for_each_stream():
    given = [(x[:, None].repeat(1, 3, 1, 1, 1), keys) for x, keys in batches()]
    off, together, _ = compare(lambda: gotta.adapt(Frames(), "deskew"), given)
    assert off < 1e-4
    assert not together.one_forward


class Doubled(Statistics):
    """Statistics of somebody else's."""

    name = "doubled"


def test_statistics_that_say_nothing_of_their_levels_have_a_forward_for_each_stream():
    x, keys = next(batches())
    model = gotta.adapt(seeded_net(), "norm", statistics=Doubled())
    assert model.step(x, stream=keys).cost["predict"]["forwards"] == 4
    assert torch.allclose(model(x, stream=keys), gotta.adapt(seeded_net(), "source", statistics=Source())(x), atol=1e-5)
