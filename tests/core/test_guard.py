"""The guard: silent where adaptation does no harm, and a shelter where it does."""

import warnings
from functools import cache, partial

import numpy as np
import pytest
import torch
from tiny import seeded_net
from torch.nn import functional as F

import gotta
from gotta.core.guard import (
    ALLOWED,
    AT_MOST,
    COMPANY,
    EVERY,
    EVERY_BATCH,
    NEWCOMERS,
    ROWS,
    SEGMENT,
    certainty_lost,
    join_rows,
)
from gotta.data import dataset
from gotta.models import load
from gotta.streams import Stream, StreamSpec
from gotta.types import torch_images

pytestmark = pytest.mark.thorough

CLASSES = 6
adapt = partial(gotta.adapt, pairing="paper")  # with statistics that can do harm


def draw(labels, seed, noise=0.25):
    """Noise images with one channel brighter or darker, by class."""
    generator = torch.Generator().manual_seed(seed)
    x = 0.5 + noise * torch.randn(len(labels), 3, 8, 8, generator=generator)
    sign = torch.where(labels < 3, 0.1, -0.1)
    x[torch.arange(len(labels)), labels % 3] += sign.view(-1, 1, 1)
    return x


def shuffled(count, seed):
    return torch.randint(CLASSES, (count,), generator=torch.Generator().manual_seed(1000 + seed))


def in_runs(count, length=40):
    return (torch.arange(count) // length) % CLASSES


@pytest.fixture(scope="module")
def net():
    net = seeded_net(classes=CLASSES).train()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, 150)
    for seed in range(150):
        labels = shuffled(64, seed)
        loss = F.cross_entropy(net(draw(labels, seed)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
    net.eval()
    labels = shuffled(512, 999)
    assert right(net(draw(labels, 999)).argmax(1), labels) > 0.9
    return net


def follow(model, labels, size=16, seed=0, noise=0.25):
    """The labels that a model predicts for a stream."""
    x = draw(labels, seed, noise)
    return torch.cat([model(part).argmax(1) for part in x.split(size)])


def right(predicted, labels):
    return float((predicted == labels).float().mean())


def heard(caught):
    return [str(warning.message) for warning in caught if "source" in str(warning.message)]


@pytest.mark.parametrize("size", [16, 64])
@pytest.mark.parametrize("seeds", [range(5), pytest.param(range(5, 20), marks=pytest.mark.slow)], ids=["few", "many"])
def test_silent_on_an_iid_stream(net, size, seeds):
    for seed in seeds:
        model = adapt(net, "tent", guard="freeze")
        follow(model, shuffled(1024, seed), size, seed)  # a warning would be an error
        assert model.guard.looks >= 4
        assert model.guard.episodes == 0


@pytest.mark.parametrize(("method", "hyper"), [("norm", {}), ("tent", {"lr": 1e-3})])
def test_batch_statistics_on_runs_of_classes_are_found_out(net, method, hyper):
    labels = in_runs(4000)
    source = right(follow(adapt(net, "source"), labels), labels)
    bare = right(follow(adapt(net, method, **hyper), labels), labels)
    assert bare < source - 0.2
    model = adapt(net, method, guard="freeze", **hyper)
    with pytest.warns(UserWarning, match="surer of its labels"):
        predicted = follow(model, labels)
    assert model.guard.sheltering
    assert model.guard.episodes == 1
    assert right(predicted[1000:], labels[1000:]) > source - 0.02


@pytest.mark.parametrize("guard", ["freeze", "rollback"])
def test_a_collapse_on_an_iid_stream_is_found_out(net, guard):
    labels = shuffled(4000, 3)
    source = right(follow(adapt(net, "source"), labels), labels)
    bare = follow(adapt(net, "tent", lr=1.0), labels)
    assert right(bare, labels) < 0.4
    model = adapt(net, "tent", lr=1.0, guard=guard)
    with pytest.warns(UserWarning, match="surer of its labels"):
        predicted = follow(model, labels)
    assert right(predicted, labels) > right(bare, labels) + 0.2
    if guard == "freeze":  # a state that has collapsed stays so
        assert model.guard.sheltering
        assert right(predicted[1000:], labels[1000:]) > source - 0.02


def test_being_wrong_for_sure_is_found_out_by_the_source(net):
    """All classes are predicted, and confidently, but they are the wrong ones."""
    model = adapt(net, "source", guard="freeze")
    with torch.no_grad():
        model.model.fc.weight.copy_(net.fc.weight.roll(1, 0))
        model.model.fc.bias.copy_(net.fc.bias.roll(1, 0))
    with pytest.warns(UserWarning, match="surer of its labels"):
        follow(model, shuffled(1000, 0), noise=0.15)


def test_warn_tells_once_per_episode_and_changes_nothing(net):
    labels = in_runs(3000)
    model, bare = adapt(net, "norm", guard="warn"), adapt(net, "norm")
    with pytest.warns(UserWarning, match="worse than its source") as caught:
        predicted = follow(model, labels)
    assert len(heard(caught)) == model.guard.episodes == 1
    assert torch.equal(predicted, follow(bare, labels))
    assert not model.guard.sheltering


def test_sheltered_predictions_are_the_sources_bit_for_bit(net):
    model = adapt(net, "norm", guard="freeze")
    with pytest.warns(UserWarning, match="worse than its source"):
        follow(model, in_runs(2000))
    x = draw(in_runs(16), 5)
    offered = model.offered
    outcome = model.step(x)
    assert torch.equal(outcome.prediction.logits, adapt(net, "source")(x))
    assert outcome.diagnostics["guard_unhealthy"] == 1
    assert outcome.adaptations == 0
    assert model.offered == offered


def test_after_the_runs_it_adapts_again_where_that_is_worth_it(net):
    model = adapt(net, "norm", guard="freeze")
    with pytest.warns(UserWarning, match="worse than its source"):
        follow(model, in_runs(2000))
    assert model.guard.sheltering
    offered, labels = model.offered, shuffled(6000, 1)
    brighter = draw(labels, 0) + 0.3
    assert right(net(brighter).argmax(1), labels) < 0.5
    predicted = torch.cat([model(x).argmax(1) for x in brighter.split(64)])
    assert not model.guard.sheltering
    assert model.offered > offered
    assert right(predicted[-1000:], labels[-1000:]) > 0.9


def test_rollback_restores_the_last_healthy_state(net):
    model = adapt(net, "tent", "fifo", 16, lr=0.01, pairing="memory", guard="rollback")
    follow(model, shuffled(1160, 0))
    snapshot = model.guard.snapshot
    assert snapshot is not None
    follow(model, shuffled(64, 1))
    with pytest.warns(UserWarning, match="made up"):
        model.guard.trip(model.method, model.memory, "made up")
    state, expected = model.method.state_dict()["model"], snapshot["method"]["model"]
    assert all(torch.equal(state[name], expected[name]) for name in expected)
    assert torch.equal(model.memory.state_dict()["x"], snapshot["memory"]["x"])


def test_logits_that_are_not_finite_are_a_collapse(net):
    model = adapt(net, "tent", guard="rollback")
    x = draw(shuffled(16, 0), 0)
    model(x)
    with torch.no_grad():
        model.model.fc.weight.fill_(float("nan"))
    with pytest.warns(UserWarning, match="NaN"):
        assert torch.equal(model(x), adapt(net, "source")(x))
    assert torch.isfinite(model.model.fc.weight).all()


@pytest.mark.parametrize("memory", ["none", "fps"])
def test_the_cost_is_counted_and_at_most_half_a_forward_per_sample(net, memory):
    capacity = None if memory == "none" else 64
    model = adapt(net, "tent", memory, capacity, lr=1e-4, pairing="memory", guard="freeze")
    labels = shuffled(64 * 45, 0)
    spent = [model.step(x).cost.get("guard", {}) for x in draw(labels, 0).split(64)]
    looks = len(labels) // EVERY * SEGMENT // ROWS
    assert model.guard.looks == looks
    assert (
        sum(cost.get("forwards", 0) for cost in spent) == 2 * looks == model.method.cost.summary()["guard"]["forwards"]
    )
    company = sum(min(COMPANY, look * NEWCOMERS) for look in range(looks))
    assert sum(cost.get("samples", 0) for cost in spent) == looks * 2 * ROWS + company <= len(labels) / 2
    bare = adapt(net, "tent", memory, capacity, lr=1e-4, pairing="memory")
    for x in draw(labels, 0).split(64):
        bare(x)
    with_guard, without = model.method.cost.summary(), bare.method.cost.summary()
    assert with_guard["guard"]["seconds"] > 0
    assert without["guard"]["forwards"] == 0
    for phase in ("predict", "adapt"):
        assert with_guard[phase]["forwards"] == without[phase]["forwards"]


@pytest.mark.parametrize("size", [4, 16, 100])
def test_looking_back_costs_at_most_half_a_forward_per_sample(net, size):
    model = adapt(net, "norm", guard="freeze")
    with pytest.warns(UserWarning, match="made up"):
        model.guard.trip(model.method, model.memory, "made up")
    before, labels = model.method.cost.summary()["guard"]["samples"], in_runs(size * EVERY_BATCH * 10)
    follow(model, labels, size)
    assert model.guard.sheltering
    assert model.guard.looks > 0
    assert model.method.cost.summary()["guard"]["samples"] - before <= len(labels) / 2


@pytest.mark.parametrize("size", [1, 4, 16, 100, 256])
def test_the_same_samples_are_looked_at_whatever_the_batches(net, size):
    model, whole_stream = adapt(net, "source", guard="freeze"), adapt(net, "source", guard="freeze")
    x = draw(shuffled(512, 0), 0)
    mine = [model.step(part).diagnostics.get("guard_lost") for part in x.split(size)]
    theirs = [whole_stream.step(part).diagnostics.get("guard_lost") for part in x.split(32)]
    assert model.guard.looks == whole_stream.guard.looks == len(x) // EVERY * SEGMENT // ROWS
    assert torch.allclose(model.guard.company, whole_stream.guard.company)
    if size <= 100:  # else two checks in one step, of which the last is told
        lost = [[found for found in told if found is not None] for told in (mine, theirs)]
        assert lost[0] == pytest.approx(lost[1], abs=1e-5)


@pytest.mark.parametrize("runs", [400, 900, 2500])
def test_everything_is_saved(tmp_path, net, runs):
    """While healthy, in the middle of a window, and while sheltering."""
    model = adapt(net, "norm", guard="rollback")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        follow(model, in_runs(runs))
    model.save(tmp_path)
    other = gotta.load(tmp_path, net)
    labels = in_runs(1500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = [[m.step(x) for x in draw(labels, 7).split(16)] for m in (model, other)]
    for mine, theirs in zip(*outcomes, strict=True):
        assert torch.equal(mine.prediction.logits, theirs.prediction.logits)
        assert mine.diagnostics == theirs.diagnostics
    assert (model.guard.looks, model.guard.episodes) == (other.guard.looks, other.guard.episodes)


def test_reset_forgets_all_of_it(net):
    model = adapt(net, "norm", guard="freeze")
    with pytest.warns(UserWarning, match="worse than its source"):
        follow(model, in_runs(2000))
    model.reset()
    assert not model.guard.sheltering
    fresh = adapt(net, "norm", guard="freeze")
    x = draw(in_runs(16), 0)
    mine, theirs = model.step(x), fresh.step(x)
    assert torch.equal(mine.prediction.logits, theirs.prediction.logits)
    assert mine.diagnostics == theirs.diagnostics


def test_the_source_is_weighed_against_the_adapted_model_and_the_witness():
    def lost(source, adapted, witness):
        return certainty_lost(*(torch.tensor(values).double() for values in (source, adapted, witness)))

    nan = float("nan")
    assert lost([0.9, 0.7], [0.8, 0.6], [0.8, 0.6]) == pytest.approx(0.1)
    assert lost([0.5], [1.0], [0.2]) == pytest.approx(-0.1)  # sure of itself, and hardly believed
    assert lost([0.5], [nan], [0.2]) == 1  # all there can be
    assert lost([nan], [0.1], [0.2]) == 0  # nothing to compare with
    assert lost([0.5], [0.3], [nan]) == pytest.approx(0.2)


def test_one_check_alone_is_no_alarm(net):
    model = adapt(net, "norm", guard="warn")
    steps = [model.step(x).diagnostics for x in draw(in_runs(EVERY * ROWS // SEGMENT), 0).split(16)]
    (told,) = [step for step in steps if "guard_lost" in step]
    assert told["guard_lost"] > ALLOWED + AT_MOST
    assert told["guard_evidence"] == AT_MOST
    assert not model.guard.unhealthy


@pytest.fixture
def judged(monkeypatch):
    """A guarded model whose checks find the losses that are told; gives the model and what a check came to."""
    told = []
    monkeypatch.setattr("gotta.core.guard.certainty_lost", lambda *given: told.pop(0))
    model = adapt(seeded_net(classes=CLASSES), "source", guard="freeze")
    x = draw(shuffled(32, 0), 0)

    def check(lost):
        told.append(lost)
        while told:
            found = model.step(x).diagnostics
        return found["guard_evidence"]

    return model, check


@pytest.mark.filterwarnings("ignore::gotta.core.guard.GuardWarning")
def test_losses_add_up_to_an_alarm_by_the_numbers_of_the_page(judged):
    """docs/dropin.md: above 0.04, at most 0.1 of it in one check, never below 0, and above 0.2 it is an alarm."""
    model, check = judged
    sums = [check(lost) for lost in (0.04, 0.09, 0.0, -1.0, 0.5, 0.5)]
    assert sums == pytest.approx([0, 0.05, 0.01, 0, 0.1, 0.2])
    assert not model.guard.sheltering
    assert check(0.05) == pytest.approx(0.21)
    assert model.guard.sheltering
    assert model.guard.evidence == 0


@pytest.mark.filterwarnings("ignore::gotta.core.guard.GuardWarning")
@pytest.mark.parametrize(("episodes", "bar"), [(1, 0.2), (2, 0.4), (5, 3.2), (9, 3.2)])
def test_the_way_back_has_a_bar_that_doubles_four_times(judged, episodes, bar):
    """Of every eighth batch, and what is won counts by at most 0.1 of a check, too."""
    model, check = judged
    model.guard.episodes = episodes - 1
    model.guard.trip(model.method, model.memory, "made up")
    for _ in range(round(bar / 0.1) - 1):
        check(-0.3)
        assert model.guard.batches % 8 == 0
    check(-0.08)
    assert model.guard.sheltering
    check(-0.05)
    assert not model.guard.sheltering
    assert not model.guard.unhealthy


@pytest.mark.filterwarnings("ignore::gotta.core.guard.GuardWarning")
def test_to_reach_the_bar_is_not_enough_for_the_way_back(judged):
    model, check = judged
    model.guard.trip(model.method, model.memory, "made up")
    assert [check(-0.3), check(-0.3)] == [0.1, 0.2]
    assert model.guard.sheltering


def test_only_a_state_without_any_evidence_is_one_to_go_back_to(judged):
    model, check = judged
    model.guard.action = "rollback"
    assert check(0.05) > 0
    assert model.guard.snapshot is None
    assert check(0.03) == 0
    assert model.guard.snapshot is not None


def test_a_check_is_of_32_samples_four_of_each_24():
    model = adapt(seeded_net(classes=CLASSES), "source", guard="freeze")
    x = draw(shuffled(192 * 10, 0), 0)
    model(x[:171])
    assert model.guard.looks == 0
    model(x[171:172])  # the last of the eighth four
    assert model.guard.looks == 1
    kept = x[[24 * group + place for group in range(8) for place in range(4)]]
    assert torch.equal(model.guard.company, kept[::8])
    model(x[172:])
    assert model.guard.looks == 10
    assert len(model.guard.company) == 32  # four of each of the last eight checks


def test_rows_are_joined_in_the_type_of_the_newer_ones():
    assert join_rows(join_rows(None, torch.arange(5.0)), torch.arange(5, 8)).tolist() == list(range(8))


PRACTICAL = {"gamma": 0.1, "severity": 5, "per_class": 25, "domain_order": "standard", "schedule": "continual"}


@cache
def trained():
    return load("resnet20").to(memory_format=torch.channels_last)


@cache
def last_ten(method, guard=None, **settings):
    """Accuracy in percent over the last ten of fifteen domains of the bundled practical stream."""
    spec = StreamSpec.of(**{**PRACTICAL, "order": "dirichlet", **settings}, drop_single=True)
    model = adapt(trained(), method, num_classes=10, guard=guard)
    hits = seen = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for step in Stream(dataset("cifar10-mini"), spec):
            predicted = model(step.x).argmax(1).numpy()
            late = step.truth.domain >= 5
            hits, seen = hits + int((predicted == step.truth.label)[late].sum()), seen + int(late.sum())
    return 100 * hits / seen


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"batch_size": 64},
        {"batch_size": 16},
        {"batch_size": 32, "seed": 3},
        # Sorted in batches of 64, two or three classes come at a time: TENT is then 7 points below the source, and the
        # guard sees too little of it for an alarm (docs/results/guard.md, where it falls short).
        {"batch_size": 16, "order": "sorted"},
    ],
)
@pytest.mark.parametrize("guard", ["freeze", "rollback"])
def test_guarded_tent_stays_near_the_source_on_the_practical_stream(settings, guard):
    source = last_ten("source", **settings)
    assert last_ten("tent", guard, **settings) > source - 2
    if settings["batch_size"] == 16:
        assert last_ten("tent", **settings) < source - 5


@pytest.mark.slow
def test_silent_on_clean_images_for_twenty_seeds():
    for seed in range(20):
        settings = {"order": "iid", "schedule": "one", "domains": "clean", "per_class": 80, "choose": "random"}
        stream = Stream(dataset("cifar10-mini"), StreamSpec.of(**settings, batch_size=64, seed=seed))
        model = adapt(trained(), "tent", guard="warn")
        for step in stream:
            model(step.x)
        assert model.guard.looks >= 3
        assert model.guard.episodes == 0


def shown(rows, domains, size):
    """Bundled images in batches: x and labels."""
    images = dataset("cifar10-mini")
    for start in range(0, len(rows), size):
        at = slice(start, start + size)
        pixels = [images.images(domain, rows[at][k : k + 1]) for k, domain in enumerate(domains[at])]
        yield torch_images(np.concatenate(pixels)), images.labels[rows[at]]


def accuracy(net, rows, domains, size, **arguments):
    """In percent, and whether there was an alarm."""
    model, hits = adapt(net, num_classes=10, **arguments), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x, labels in shown(rows, domains, size):
            hits += int((model(x).argmax(1).numpy() == labels).sum())
    return 100 * hits / len(rows), model.guard is not None and model.guard.episodes > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "classes", "size", "lr", "harmful"),
    [
        (("impulse_noise-5", "contrast-5"), range(10), 32, 1e-3, False),
        (("snow-5",), (3, 5), 64, 1e-3, True),
        (("gaussian_noise-1",), range(10), 64, 0.2, True),
    ],
)
def test_domains_in_turns_are_no_alarm_and_two_classes_or_a_large_learning_rate_are(names, classes, size, lr, harmful):
    net = trained()
    labels, rng = dataset("cifar10-mini").labels, np.random.default_rng(0)
    rounds = [rng.permutation(np.flatnonzero(np.isin(labels, list(classes)))) for _ in range(8)]
    rows = np.concatenate(rounds)[:2400]
    domains = [names[k // 32 % len(names)] for k in range(len(rows))]
    source, _ = accuracy(net, rows, domains, size, method="source")
    published = {
        "method": "tent",
        "lr": lr,
        "statistics": "batch",
    }  # with levels, training waits for a change of domain
    bare, _ = accuracy(net, rows, domains, size, **published)
    guarded, alarm = accuracy(net, rows, domains, size, **published, guard="freeze")
    assert (bare < source) == harmful == alarm
    assert guarded > bare + 5 if harmful else guarded == bare
