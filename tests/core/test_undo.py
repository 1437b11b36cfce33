"""No batch can ruin a model: what would is taken back as a whole, and a refused batch changes nothing."""

import warnings

import pytest
import torch
from tiny import net_for, seeded_net
from torch import nn
from whole_state import QUICK, frozen_state

import gotta
from gotta import GottaError, adapt
from gotta.core.inputs import ENOUGH, Scale
from gotta.core.undo import Copies, UndoneWarning, moved_far
from gotta.data import dataset
from gotta.methods import methods
from gotta.streams import Stream, StreamSpec

CLASSES = 10
POISON = [1e4, 1e6, 1e10, 1e15, 1e20, 3e38]


def images(size=8, seed=0):
    return torch.rand(size, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def poisoned(value, size=8, seed=99):
    x = images(size, seed)
    x[size // 2, 1, 3, 3] = value
    return x


def build(method, memory="none", **settings):
    memory = memory if methods.get(method).uses_memory else "none"
    capacity = None if memory == "none" else 8
    return adapt(net_for(method), method, memory, capacity, **{"seed": 3, **QUICK.get(method, {}), **settings})


def served(model, x):
    """The outcome of a step that may be undone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndoneWarning)
        return model.step(x)


@pytest.mark.parametrize("memory", ["none", "fpsd"])
@pytest.mark.parametrize("method", gotta.list_methods())
def test_a_poisoned_batch_leaves_no_trace(method, memory):
    """Whether it comes first or later, in the batch that adapts or long before one."""
    for value, size, before in zip(POISON, (8, 8, 4, 8, 8, 4), (1, 0, 1, 2, 1, 0), strict=True):
        model, twin = (build(method, memory, pairing="memory") for _ in range(2))
        for seed in range(before):
            assert torch.equal(model(images(seed=seed)), twin(images(seed=seed)))
        outcome = served(model, poisoned(value, size))
        assert outcome.diagnostics["undone"] == 1
        assert outcome.adaptations == 0
        assert outcome.slots.tolist() == [-1] * size
        assert torch.isfinite(outcome.prediction.logits).all()
        for seed in range(10, 13):
            assert torch.equal(model(images(seed=seed)), twin(images(seed=seed)))
        assert frozen_state(model) == frozen_state(twin)


@pytest.mark.thorough
@pytest.mark.parametrize("memory", ["none", "cstu", "rbm"])
@pytest.mark.parametrize("method", gotta.list_methods())
def test_good_batches_later_nothing_is_left_of_it(method, memory):
    model, twin = (build(method, memory, pairing="memory") for _ in range(2))
    for seed in range(3):
        assert torch.equal(model(images(seed=seed)), twin(images(seed=seed)))
    served(model, poisoned(1e20))
    for seed in range(8):  # the memory's rows are others by now
        assert torch.equal(model(images(seed=seed)), twin(images(seed=seed)))
    assert frozen_state(model) == frozen_state(twin)


@pytest.mark.parametrize("memory", ["none", "fps"])
@pytest.mark.parametrize("method", gotta.list_methods())
def test_a_gain_of_ten_is_no_poison(method, memory):
    model = build(method, memory, pairing="memory")
    for x in (images(), 10 * images(seed=1), images(seed=2) / 10, 10 * images(seed=3)):
        assert "undone" not in model.step(x).diagnostics
    assert model.adaptations == (4 if model.method.adapts else 0)


class Jumpy(methods.get("source")):
    """Moves what it is told to."""

    def adapt(self, batch):
        with torch.no_grad():
            self.move()
        return {}


@pytest.mark.parametrize("factor", [1.01e3, 1 / 1.01e3, float("inf"), float("nan")])
def test_a_running_variance_that_jumps_is_taken_back(factor):
    model = gotta.Adapted(Jumpy(seeded_net()), gotta.Memory("none", None, CLASSES))
    model.method.move = lambda: model.model.bn2.running_var[3].mul_(0.99e3)
    assert "undone" not in model.step(images()).diagnostics
    before = frozen_state(model)
    model.method.move = lambda: model.model.bn2.running_var[3].mul_(factor)
    with pytest.warns(UndoneWarning, match="factor of 1,000|finite"):
        outcome = model.step(images(seed=1))
    assert outcome.diagnostics == {"undone": 1.0}
    assert frozen_state(model) == before


def test_weights_optimizer_and_teacher_that_are_not_finite_are_taken_back():
    spoil = {
        "weight": lambda m: m.model.fc.weight.fill_(float("nan")),
        "teacher": lambda m: m.teacher.bn1.weight.fill_(float("inf")),
        "optimizer": lambda m: next(iter(m.optimizer.state.values()))["exp_avg"].fill_(float("nan")),
    }
    for name, ruin in spoil.items():
        model = build("rotta" if name != "weight" else "cotta", "fps")
        served(model, images())
        before, adapt_well = frozen_state(model), model.method.adapt

        def badly(batch, ruin=ruin, model=model, well=adapt_well):
            found = well(batch)
            with torch.no_grad():
                ruin(model.method)
            return found

        model.method.adapt = badly
        assert served(model, images(seed=1)).diagnostics["undone"] == 1, name
        assert frozen_state(model) == before, name


@pytest.mark.parametrize("method", gotta.list_methods())
@pytest.mark.parametrize("memory", ["none", "fps"])
def test_a_step_that_fails_or_is_interrupted_changes_nothing(method, memory):
    model = build(method, memory, adapt_every=4 if memory == "fps" else None, pairing="paper")
    served(model, images())
    before = frozen_state(model)
    last = "adapt" if model.method.adapts else "follow"  # what is done last in a step
    well = getattr(model.method, last)
    for error, seen in ((RuntimeError("no"), GottaError), (KeyboardInterrupt(), KeyboardInterrupt)):

        def badly(*given, error=error):
            well(*given)
            raise error

        setattr(model.method, last, badly)
        with pytest.raises(seen):
            model(images(seed=1))
        assert frozen_state(model) == before


def test_a_refused_batch_leaves_cottas_generator_alone():
    model = build("cotta", anchor_threshold=1.0)
    model(images())
    before = frozen_state(model)
    model.method.logits = lambda x, net=None, plain=model.method.logits: plain(x, net) * float("nan")
    model.method.reset_state["model"]["fc.weight"] = torch.full((CLASSES, 16), float("nan"))
    with pytest.raises(GottaError, match="NaN or infinite logits"):
        model(images(seed=1))
    model.method.reset_state["model"]["fc.weight"] = seeded_net().fc.weight.detach().clone()
    assert frozen_state(model) == before


def test_a_frozen_cotta_moves_no_generator():
    model = build("cotta", anchor_threshold=1.0)
    model(images())
    model.freeze()
    before = frozen_state(model)
    model(images(seed=1))
    assert frozen_state(model) == before


class Overflows(nn.Module):
    """A network that has no finite logits where an image is bright, whatever its weights."""

    def __init__(self):
        super().__init__()
        self.net = seeded_net()

    def forward(self, x):
        bright = (x.mean((1, 2, 3)) > 0.9)[:, None]
        return self.net(x).masked_fill(bright, float("inf"))


@pytest.mark.parametrize("guard", [None, "warn", "freeze", "rollback"])
def test_where_the_source_has_no_logits_either_the_batch_is_to_blame(guard):
    model = adapt(Overflows(), "tent", "fps", 8, pairing="memory", guard=guard, lr=0.1)
    for seed in range(3):
        model(images(seed=seed))
    before = frozen_state(model)
    with pytest.raises(GottaError, match="NaN or infinite logits"):
        model(torch.ones(4, 3, 8, 8))
    assert frozen_state(model) == before


@pytest.mark.parametrize("method", ["tent", "note", "rotta"])
def test_logits_that_are_not_finite_are_replaced_by_the_sources(method):
    model = build(method, "fps", pairing="memory")
    model(images())
    before = frozen_state(model)
    hook = model.method.predictor.register_forward_hook(lambda module, given, output: output * float("nan"))
    predict = model.method.predict
    outcome = None

    def once(x):
        found = predict(x)
        hook.remove()
        return found

    model.method.predict = once
    outcome = served(model, images(seed=1))
    model.method.predict = predict
    expected = seeded_net()(images(seed=1))
    torch.testing.assert_close(outcome.prediction.logits, expected)
    assert outcome.diagnostics == {"undone": 1.0}
    assert frozen_state(model) == before


def test_it_is_told_once():
    model = build("tent")
    model(images())
    with pytest.warns(UndoneWarning, match="1,000 times"):
        model(poisoned(1e20))
    model(poisoned(1e20))  # warnings are errors in these tests


def test_the_cost_of_a_refused_batch_is_forgotten_and_that_of_an_undone_one_is_not():
    model = build("tent", "fps", pairing="memory")
    model(images())
    spent = model.method.cost.summary()["total"]["forwards"]
    model.method.adapt = lambda batch: 1 / 0
    with pytest.raises(GottaError, match="division by zero"):
        model(images(seed=1))
    assert model.method.cost.summary()["total"]["forwards"] == spent
    assert served(model, poisoned(1e20)).cost["predict"]["forwards"] == 1


def test_a_step_inside_a_step_is_refused():
    model = build("rotta", augment=lambda x: model(x), pairing="paper")
    with pytest.raises(GottaError, match="inside a step"):
        model(images())


def test_a_stream_that_stays_at_another_scale_is_believed():
    scale, refused = Scale(), 0
    for size in (1.0, 2.0, 1e5, 1e5, 1e5, 1e5, 1e5):
        scale, exceeded = scale.after(torch.full((16,), size).double())
        refused += 16 * exceeded
    assert refused == ENOUGH - 16
    assert scale == Scale(1e5, 0)
    assert Scale().after(torch.tensor([0.0, 0.0]).double()) == (Scale(), False)
    assert Scale().after(torch.tensor([1.0, 1e4, 1.0]).double()) == (Scale(), True)


@pytest.mark.parametrize("memory", ["fifo", "fps"])
def test_a_broken_sample_that_came_before_all_others_is_found_when_it_does_harm(memory):
    model = adapt(seeded_net(), "norm", memory, 20, CLASSES, pairing="memory", rate=0.5)
    model(1e20 * images(1))
    outcomes = [served(model, images(1, seed)) for seed in range(80)]
    assert [at for at, outcome in enumerate(outcomes) if "undone" in outcome.diagnostics] == [18]
    assert model.adaptations > 1
    assert model.memory.peek().x.max() <= 1
    assert served(model, poisoned(1e15, 1)).diagnostics["undone"] == 1


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "memory"), [("norm", "none"), ("norm", "fps"), ("rotta", "fps"), ("tent", "none")])
def test_one_pixel_does_not_cost_the_bundled_network_its_accuracy(method, memory):
    stream = Stream(
        dataset("cifar10-mini"), StreamSpec.of(batch_size=32, schedule="one", domains="clean", per_class=13)
    )
    net = gotta.models.load("resnet20")
    capacity = None if memory == "none" else 32
    model, twin = (adapt(net, method, memory, capacity, 10, pairing="memory") for _ in range(2))
    batches = [step.x for step in stream]
    assert len(batches) == 5
    for at, x in enumerate(batches):
        if at in (0, 2):
            bad = x.clone()
            bad[5, 0, 7, 7] = (1e20, 1e6)[at // 2]
            assert served(model, bad).diagnostics["undone"] == 1
        assert torch.equal(model(x), twin(x))


def test_a_poisoned_batch_is_nothing_to_a_guard_either():
    models = [adapt(seeded_net(), "tent", "fps", 8, pairing="memory", guard="freeze") for _ in range(2)]
    for model in models:
        model(images())
        with pytest.warns(UserWarning, match="made up"):
            model.guard.trip(model.method, model.memory, "made up")
    model, twin = models
    outcome = served(model, poisoned(1e10))
    assert outcome.diagnostics == {"undone": 1.0}
    torch.testing.assert_close(outcome.prediction.logits, seeded_net()(poisoned(1e10)))
    for seed in range(3):
        assert torch.equal(model(images(seed=seed)), twin(images(seed=seed)))
    assert frozen_state(model) == frozen_state(twin)


def some_tensors():
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(2, 3, 4, 4, generator=generator)
    return [
        torch.rand(5, generator=generator),
        torch.rand(3, generator=generator),
        images,
        images.clone(memory_format=torch.channels_last),
        torch.tensor(3),
        torch.tensor(4),
        torch.tensor(0.5),
        torch.arange(4),
        torch.rand(2, 2, generator=generator).bfloat16(),
        torch.complex(torch.ones(2), torch.zeros(2)),
        torch.rand(6, generator=generator)[::2],
        torch.zeros(0),
    ]


def test_all_come_back():
    tensors = some_tensors()
    copies = Copies(tensors)
    for value in tensors:
        value.zero_()
    copies.back()
    assert all(torch.equal(value, other) for value, other in zip(tensors, some_tensors(), strict=True))


def test_any_number_that_is_not_finite_is_found():
    assert Copies([]).finite()
    assert Copies(some_tensors()).finite()
    for at, value in enumerate(some_tensors()):
        if value.numel() and (value.is_floating_point() or value.is_complex()):
            for bad in (float("nan"), float("inf"), -float("inf")):
                tensors = some_tensors()
                tensors[at][(-1,) * value.ndim] = bad
                assert not Copies(tensors).finite(), at


def test_settings_of_the_optimizer_go_back_too():
    model = gotta.adapt(seeded_net(), "tent", pairing="paper")
    model(images())
    group, step = model.method.optimizer.param_groups[0], model.method.adapt
    before = group["lr"]

    def change(batch):
        group["lr"] = 9.0
        step(batch)
        raise KeyboardInterrupt

    model.method.adapt = change
    with pytest.raises(KeyboardInterrupt):
        model(images(seed=1))
    assert model.method.optimizer.param_groups[0]["lr"] == before


def test_a_variance_of_zero_that_stays_has_not_moved():
    eps = torch.tensor(1e-5)
    assert not moved_far(torch.zeros(2), torch.zeros(2), eps)
    assert moved_far(torch.zeros(2), torch.ones(2) * 1e9, eps)
