"""One step: predict, observe, adapt."""

from copy import deepcopy

import pytest
import torch
from tiny import seeded_net
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from gotta import Adapted, GottaError, Memory, adapt
from gotta.methods import methods
from gotta.methods.parts.losses import entropy
from gotta.statistics import Class
from gotta.types import Prediction

CLASSES = 10


class Listening(methods.get("source")):
    """Remembers what it was asked to adapt on."""

    def __init__(self, model):
        super().__init__(model)
        self.heard = []

    def adapt(self, batch):
        self.heard.append(batch)
        return {}


def listening(capacity=4, every=None, policy="fifo"):
    memory = Memory(policy, None if policy == "none" else capacity, CLASSES)
    return Adapted(Listening(seeded_net()), memory, every)


def images(size, seed=0):
    return torch.rand(size, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def test_adapts_after_every_so_many_samples_also_inside_a_batch():
    model = listening(capacity=4, every=4)
    counts = [model.step(images(size)).adaptations for size in (10, 1, 1, 9)]
    assert counts == [2, 0, 1, 2]
    assert model.offered == 21
    assert model.adaptations == 5


def test_after_a_reset_samples_are_counted_anew():
    model = listening(capacity=4, every=4)
    model.step(images(7))
    model.reset()
    assert [model.step(images(size)).adaptations for size in (3, 1)] == [0, 1]
    assert (model.offered, model.adaptations) == (4, 1)


def test_an_adaptation_inside_a_batch_sees_only_what_came_before():
    model = listening(capacity=4, every=4)
    x = images(8)
    model.step(x)
    assert [batch.x.tolist() for batch in model.method.heard] != [x[:4].tolist()] * 2
    first, second = (sorted(batch.x[:, 0, 0, 0].tolist()) for batch in model.method.heard)
    assert first == sorted(x[:4, 0, 0, 0].tolist())
    assert second == sorted(x[4:, 0, 0, 0].tolist())


def test_without_a_memory_every_batch_is_adapted_on_whole_and_in_order():
    model = listening(policy="none")
    for size in (5, 3):
        model.step(images(size, seed=size))
    assert torch.equal(model.method.heard[0].x, images(5, seed=5))
    assert torch.equal(model.method.heard[1].x, images(3, seed=3))
    assert model.method.heard[1].age.tolist() == [0, 0, 0]


def test_slots_tell_where_each_sample_went():
    outcome = listening(capacity=4, every=4).step(images(6))
    assert outcome.slots.tolist() == [0, 1, 2, 3, 0, 1]


def test_predictions_of_a_batch_come_before_its_adaptation():
    model = adapt(seeded_net(), "tent", pairing="paper", num_classes=CLASSES, lr=0.1)
    after = adapt(seeded_net(), "tent", pairing="paper", num_classes=CLASSES, lr=0.1, score="after")
    x = images(16)
    first, later = model(x), after(x)
    assert not torch.allclose(first, later)
    torch.testing.assert_close(model.method.predict(x).logits, later)


def test_the_memory_refreshes_every_so_many_adaptations():
    memory = Memory("fifo", 4, CLASSES, refresh_every=3)
    calls = []
    memory.refresh = calls.append
    model = Adapted(Listening(seeded_net()), memory, 4)
    for _ in range(7):
        model.step(images(4))
    assert len(calls) == 2


class Reading(methods.get("source")):
    """Notes what the memory holds whenever it predicts, and asks the network about it."""

    needs_features = reads_memory = True

    def __init__(self, model, statistics=None):
        super().__init__(model, statistics)
        self.saw, self.said = [], []

    def predict(self, x):
        held = self.held()
        self.saw.append(held)
        prediction = super().predict(x)
        self.said.append(None if held is None else self.consult(held.x))
        return prediction


def test_a_prediction_may_read_what_the_memory_holds_by_then():
    model = Adapted(Reading(seeded_net()), Memory("fifo", 4, CLASSES), 4)
    first, second = images(3, seed=1), images(3, seed=2)
    for x in (first, second):
        model.step(x)
    assert model.method.saw[0] is None
    assert torch.equal(model.method.saw[1].x, first)
    logits, features = model.method.said[1]
    torch.testing.assert_close(logits, seeded_net()(first))
    assert features.shape == (3, 16)


def test_reading_is_only_looking():
    memory = Memory("pbrs", 4, CLASSES, journal=True)
    model = Adapted(Reading(seeded_net()), memory, 100)
    model.step(images(6))
    before, events = memory.state_dict(), len(memory.journal.events)
    held = model.method.held()
    for column in (held.x, held.label, held.uncertainty, held.embedding):
        column.zero_()
    after = memory.state_dict()
    assert len(memory.journal.events) == events
    assert {name: str(value) for name, value in before.items()} == {name: str(value) for name, value in after.items()}


def test_without_a_memory_there_is_nothing_to_read():
    model = Adapted(Reading(seeded_net()), Memory("none", None, CLASSES))
    for _ in range(2):
        model.step(images(4))
    assert model.method.saw == [None, None]


def test_rows_are_predicted_anew_without_a_look_at_themselves():
    model = Adapted(Reading(seeded_net()), Memory("fifo", 4, CLASSES, refresh_every=1), 4)
    model.step(images(4))
    assert model.method.saw == [None, None]


def test_a_copy_reads_its_own_memory():
    model = Adapted(Reading(seeded_net()), Memory("fifo", 4, CLASSES), 100)
    copied = deepcopy(model)
    model.step(images(3))
    assert copied.method.held() is None
    assert len(model.method.held()) == 3


def test_class_statistics_learn_nothing_from_samples_that_are_asked_about():
    class Silent(Reading):
        def consult(self, x):
            return None

    readers = [kind(seeded_net(), Class()) for kind in (Reading, Silent)]
    one, two = (Adapted(reader, Memory("fifo", 8, CLASSES), 100) for reader in readers)
    for seed in range(4):  # of as many samples as there are rows
        torch.testing.assert_close(one(images(8, seed)), two(images(8, seed)), rtol=0, atol=0)
    for name, value in readers[0].statistics.state_dict().items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, readers[1].statistics.state_dict()[name]), name


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (torch.empty(0, 3, 8, 8), "empty"),
        (torch.zeros(2, 3, 8, 8, dtype=torch.uint8), "uint8"),
        (torch.full((2, 3, 8, 8), float("nan")), "NaN"),
        (torch.full((2, 3, 8, 8), float("inf")), "infinite"),
        (torch.zeros(2, 3, 9, 9), "shape"),
        (torch.zeros(5), "shape"),
        ([[1.0]], "list"),
    ],
)
def test_a_refused_batch_changes_nothing(bad, words):
    model, twin = (adapt(seeded_net(), "tent", "fps", 6, CLASSES, rate=0.1, pairing="memory") for _ in range(2))
    for m in (model, twin):
        m(images(8))
    with pytest.raises(GottaError, match=words):
        model(bad)
    for seed in range(1, 4):
        assert torch.equal(model(images(8, seed)), twin(images(8, seed)))
    assert torch.equal(model.memory.batch().x, twin.memory.batch().x)
    assert model.offered == twin.offered


def test_one_sample_has_no_batch_statistics():
    with pytest.raises(GottaError, match="one sample"):
        adapt(seeded_net(), "norm", num_classes=CLASSES, pairing="paper")(images(1))
    assert adapt(seeded_net(), "norm", "fps", 4, CLASSES)(images(1)).shape == (1, CLASSES)


def test_a_wrong_number_of_classes_is_told_before_anything_is_stored():
    model = adapt(seeded_net(), "norm", "fifo", 4, num_classes=7)
    with pytest.raises(GottaError, match=r"\[8, 10\].*\[B, 7\]"):
        model(images(8))
    assert len(model.memory) == 0


def test_printing_says_what_adapts():
    text = str(adapt(seeded_net(), "tent", "fps", 6, CLASSES))
    assert "tent" in text
    assert "48 trained parameters" in text
    assert "0 of 6 rows" in text
    assert "FPS(" in text
    model = adapt(seeded_net(), "tent", num_classes=CLASSES)
    model(images(8))
    assert "0 adaptations in 8 samples, at home, where nothing is trained" in str(model)
    model = adapt(seeded_net(), "tent", num_classes=CLASSES, pairing="paper", guard="warn")
    model(images(8))
    model.freeze()
    assert "1 forward, 1 backward" in str(model)
    assert "frozen" in str(model)
    assert "guard=warn: healthy" in str(model)


def test_printing_says_what_memory_and_method_note():
    text = str(adapt(seeded_net(), "eata", "fps", 2, CLASSES))
    assert f"capacity=2 gives each of {CLASSES} classes" in text
    assert "eata without clean samples (fisher_data; in a spec method.fisher) is eta." in text
    assert "of a slot" not in str(adapt(seeded_net(), "tent", "fps", CLASSES, CLASSES))


def test_inplace_adapts_the_given_model():
    net = seeded_net()
    assert adapt(net, "tent", num_classes=CLASSES, inplace=True).model is net
    assert adapt(net, "tent", num_classes=CLASSES).model is not net


def same(model, other, count=3):
    assert all(torch.equal(model(images(8, seed)), other(images(8, seed))) for seed in range(50, 50 + count))
    assert torch.equal(model.memory.peek().x, other.memory.peek().x)


def weights(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def unchanged(model, before):
    after = model.state_dict()
    return before.keys() == after.keys() and all(torch.equal(value, after[name]) for name, value in before.items())


@pytest.mark.parametrize("method", ["tent", "norm"])
def test_a_frozen_model_only_predicts_with_its_state(method):
    model = adapt(seeded_net(), method, "fps", 6, CLASSES, **({"lr": 0.1} if method == "tent" else {}))
    none = adapt(seeded_net(), method, num_classes=CLASSES)
    for m in (model, none):
        m(images(8))
        m.freeze()
        before, rows = weights(m), m.memory.peek().x
        first, again = m(images(8, 1)), m(images(8, 1))
        assert torch.equal(first, again)
        assert unchanged(m, before)
        assert torch.equal(m.memory.peek().x, rows)
        assert m.offered == 8
        outcome = m.step(images(8, 2))
        assert outcome.adaptations == 0
        assert outcome.slots.tolist() == [-1] * 8
        m.unfreeze()
        m(images(8, 3))
        assert m.offered == 16


def test_freezing_in_between_leaves_no_trace():
    model, twin = (adapt(seeded_net(), "norm", num_classes=CLASSES) for _ in range(2))
    for m in (model, twin):
        m(images(8))
    model.freeze()
    model(images(8, 9))
    model.unfreeze()
    same(model, twin)
    assert unchanged(model, weights(twin))


def test_the_first_batch_tells_the_number_of_classes():
    found, told = adapt(seeded_net(), "tent", "cstu", 6), adapt(seeded_net(), "tent", "cstu", 6, CLASSES)
    same(found, told)
    assert found.memory.num_classes == CLASSES
    with pytest.raises(GottaError, match="capacity"):
        adapt(seeded_net(), "tent", "fps", 0)  # at once, not at the first batch
    with pytest.raises(GottaError, match=r"\[8, 8, 8, 8\]. Expected \[B, C\]"):
        adapt(nn.Conv2d(3, 8, 3, padding=1), "source")(images(8))


def test_the_given_model_is_left_as_it_is():
    net = seeded_net().train()
    before = weights(net)
    model = adapt(net, "tent", "fps", 6, lr=0.1)
    for seed in range(3):
        model(images(8, seed))
    assert unchanged(net, before)
    assert net.training
    assert all(parameter.requires_grad for parameter in net.parameters())
    assert not net._forward_hooks
    assert not unchanged(model.model, before)


def test_a_model_in_train_mode_or_with_frozen_parameters_adapts_alike():
    plain, training, frozen = seeded_net(), seeded_net().train(), seeded_net().requires_grad_(False)
    models = [adapt(net, "tent", lr=0.1) for net in (plain, training, frozen)]
    for seed in range(3):
        first, *others = [model(images(8, seed)) for model in models]
        assert all(torch.equal(first, other) for other in others)


def test_train_and_eval_do_not_reach_into_the_adapted_model():
    model, twin = adapt(seeded_net(), "tent", lr=0.1), adapt(seeded_net(), "tent", lr=0.1)
    assert model.train().training
    assert not model.model.training
    same(model, twin)
    model.eval()
    same(model, twin)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize(("memory", "capacity"), [("none", None), ("fps", 6)])
def test_callers_without_gradients_get_the_same(mode, memory, capacity):
    net = seeded_net()
    plain = adapt(net, "tent", memory, capacity, lr=0.1)
    outputs = [plain(images(8, seed)) for seed in range(3)]
    with mode():
        model = adapt(net, "tent", memory, capacity, lr=0.1)
        assert all(torch.equal(model(images(8, seed)), output) for seed, output in enumerate(outputs))
        model.reset()
    again = [model(images(8, seed)) for seed in range(3)]
    assert all(torch.equal(one, other) for one, other in zip(again, outputs, strict=True))
    assert not any(output.requires_grad for output in again)


def test_in_a_loop_over_a_loader():
    data = TensorDataset(images(20), torch.arange(20))
    model = adapt(seeded_net(), "tent", "fifo", 8)
    predicted = [model(x).argmax(1) for x, _ in DataLoader(data, batch_size=6)]
    assert len(torch.cat(predicted)) == 20
    assert model.adaptations == 2


@pytest.mark.parametrize("method", ["source", "norm", "tent"])
def test_a_compiled_net_adapts_like_a_plain_one(method):
    net = seeded_net()
    compiled = torch.compile(deepcopy(net), backend="eager")
    memory = ("none",) if method == "source" else ("fps", 8)
    model, twin = (
        adapt(each, method, *memory, statistics="running" if memory[1:] else None) for each in (compiled, net)
    )
    for seed in range(4):
        torch.testing.assert_close(model(images(8, seed)), twin(images(8, seed)))
    torch._dynamo.reset()


def test_a_copy_goes_its_own_way():
    model = adapt(seeded_net(), "tent", "fps", 6, lr=0.1, guard="rollback", score="after")
    model(images(8))
    copy = deepcopy(model)
    before = weights(model)
    same(copy, deepcopy(model))
    assert unchanged(model, before)
    assert not unchanged(copy, before)
    assert copy.method.model is copy.model
    assert copy.offered == model.offered + 24


@pytest.mark.parametrize("guard", [None, "rollback"])
def test_moving_the_model_moves_all_that_belongs_to_it(guard):
    model = adapt(seeded_net(), "tent", "fps", 6, pairing="memory", lr=0.1, guard=guard)
    twin = adapt(seeded_net().double(), "tent", "fps", 6, pairing="memory", lr=0.1, guard=guard)
    for seed in range(4):
        model(images(8, seed))
        twin(images(8, seed).double())
    model.double()
    assert model.memory.peek().x.dtype == torch.float64
    moments = [value for state in model.method.optimizer.state.values() for value in state.values() if value.ndim]
    assert moments
    assert all(moment.dtype == torch.float64 for moment in moments)
    for seed in range(4, 8):
        torch.testing.assert_close(
            model(images(8, seed).double()), twin(images(8, seed).double()), rtol=1e-3, atol=1e-4
        )
    model.reset()
    assert model(images(8).double()).dtype == torch.float64


def test_the_state_dict_holds_the_network_and_one_tensor_of_the_rest():
    net = seeded_net()
    model = adapt(net, "tent", "fps", 6, guard="freeze")
    model(images(8))
    assert set(model.state_dict()) == {f"model.{name}" for name in net.state_dict()} | {"_extra_state"}
    assert sum(1 for _ in model.parameters()) == sum(1 for _ in net.parameters())


@pytest.mark.parametrize("norm", [nn.BatchNorm2d, lambda channels: nn.GroupNorm(4, channels)])
@pytest.mark.parametrize("memory", ["none", "fps"])
def test_channels_last(norm, memory):
    """Also what comes from images stored with the channels last: torch's GroupNorm needs help there."""
    net = seeded_net(norm)
    held = {"memory": memory, "capacity": None if memory == "none" else 8, "pairing": "paper"}
    plain, model = adapt(net, "tent", **held), adapt(net.to(memory_format=torch.channels_last), "tent", **held)
    for seed in range(4):
        x = images(8, seed)
        last = x.contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(model(last), plain(x), rtol=1e-4, atol=1e-5)
    assert model.adaptations == 4


class TrainsAll(methods.get("source")):
    """Entropy minimisation of every parameter."""

    def configure(self):
        self.model.requires_grad_(True)
        return torch.optim.SGD(self.model.parameters(), lr=1.0)

    def adapt(self, batch):
        loss = entropy(self.training_logits(batch.x)).mean()
        self.descend(loss)
        return {"loss": float(loss.detach())}


@pytest.mark.bfloat16
@pytest.mark.parametrize("memory", ["none", "fps"])
def test_bfloat16_autocast_around_one_step_or_around_many(memory):
    def build():
        return Adapted(TrainsAll(seeded_net()), Memory(memory, 8, CLASSES), None if memory == "none" else 8)

    inside, outside = build(), build()
    with torch.autocast("cpu", torch.bfloat16):
        expected = seeded_net()(images(8)).dtype
        many = [inside(images(8, seed)) for seed in range(3)]
    one = []
    for seed in range(3):
        with torch.autocast("cpu", torch.bfloat16):
            one.append(outside(images(8, seed)))
    assert expected == torch.bfloat16
    assert all(logits.dtype == expected for logits in many)
    # Weights cast for an earlier step must not be used by a later one.
    assert all(torch.equal(a, b) for a, b in zip(many, one, strict=True))
    assert unchanged(inside, weights(outside))


@pytest.mark.bfloat16
def test_outputs_have_the_type_of_the_nets():
    class Float(methods.get("source")):
        """Computes with float32 whatever the network gives."""

        def predict(self, x):
            found = super().predict(x)
            return Prediction(found.logits.float(), found.features, found.embed)

    for dtype in (torch.bfloat16, torch.float64):
        model = Adapted(Float(seeded_net().to(dtype)), Memory("none", None, CLASSES))
        assert model(images(8).to(dtype)).dtype == dtype
        assert deepcopy(model)(images(8).to(dtype)).dtype == dtype


def test_a_batch_of_one():
    model = adapt(seeded_net(), "tent", "fps", 4, pairing="memory", lr=0.1)
    for seed in range(9):
        assert model(images(1, seed)).shape == (1, CLASSES)
    assert model.adaptations == 2
    frozen = adapt(seeded_net(), "source")
    frozen.freeze()
    assert frozen(images(1)).shape == (1, CLASSES)


def test_an_unknown_guard_is_told():
    with pytest.raises(GottaError, match="Did you mean 'freeze'"):
        adapt(seeded_net(), "tent", guard="freez")


class OneRow(nn.Module):
    """A network that takes an image without its batch for a batch of one, as some do."""

    def __init__(self):
        super().__init__()
        self.net = seeded_net()

    def forward(self, x):
        return self.net(x if x.ndim == 4 else x[None])


@pytest.mark.parametrize("settings", [{}, {"method": "tent"}, {"method": "norm", "memory": "fifo", "capacity": 4}])
def test_an_image_without_a_batch_is_refused_and_changes_nothing(settings):
    model = adapt(OneRow(), **settings)
    with pytest.raises(GottaError, match=r"1 rows of logits for a batch of 3.*x\[None\]"):
        model(images(1)[0])
    assert torch.equal(model(images(4)), adapt(OneRow(), **settings)(images(4)))
