"""One step: predict, observe, adapt."""

import pytest
import torch
from tiny import seeded_net

from gotta import Adapted, GottaError, Memory, adapt
from gotta.methods import methods

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
    model = adapt(seeded_net(), "tent", num_classes=CLASSES, lr=0.1)
    after = adapt(seeded_net(), "tent", num_classes=CLASSES, lr=0.1, score="after")
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
        adapt(seeded_net(), "norm", num_classes=CLASSES)(images(1))
    assert adapt(seeded_net(), "norm", "fps", 4, CLASSES)(images(1)).shape == (1, CLASSES)


def test_a_wrong_number_of_classes_is_told_before_anything_is_stored():
    model = adapt(seeded_net(), "source", "fifo", 4, num_classes=7)
    with pytest.raises(GottaError, match=r"\[8, 10\].*\[B, 7\]"):
        model(images(8))
    assert len(model.memory) == 0


def test_printing_says_what_adapts():
    text = str(adapt(seeded_net(), "tent", "fps", 6, CLASSES))
    assert "tent" in text
    assert "48 trained parameters" in text
    assert "0 of 6 rows" in text


def test_inplace_adapts_the_given_model():
    net = seeded_net()
    assert adapt(net, "tent", num_classes=CLASSES, inplace=True).model is net
    assert adapt(net, "tent", num_classes=CLASSES).model is not net
