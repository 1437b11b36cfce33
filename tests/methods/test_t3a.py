"""T3A beside its published code."""

import pytest
import torch
from rivals import STREAM, assert_same, build, published, run
from torch import nn

from gotta import GottaError
from gotta.memory import Composed

SUREST = {"memory": Composed(lambda_t=0.0)}


@pytest.mark.parametrize("shots", [1, 5])
@pytest.mark.parametrize("embedding", ["probs", "features"])
def test_the_published_trajectory(shots, embedding):
    """Its own memory is one that keeps the surest samples of each class, whether features are stored or made anew."""
    model = build("t3a", shots=shots, capacity=10 * shots, embedding=embedding, **SUREST)
    assert_same(run(model)[0], published(f"t3a_{shots}")["logits"])


def test_the_network_is_left_alone_and_the_memory_goes_by_what_it_says():
    model = build("t3a", memory="fifo", capacity=32)
    own = model.model(STREAM[0])
    prediction = model.step(STREAM[0]).prediction
    torch.testing.assert_close(prediction.raw.logits, own)
    assert torch.equal(model.memory.peek().label.sort().values, own.argmax(1).sort().values)
    assert model.method.trained == {}


def test_without_rows_or_likeness_the_batch_and_the_weights_remain():
    model = build("t3a")
    first = model(STREAM[0])
    assert torch.equal(model(STREAM[0]), first)  # nothing is remembered
    assert first.shape == (32, 10)


def test_stored_features_save_the_forward_of_the_rows():
    forwards = {}
    for embedding in ("probs", "features"):
        model = build("t3a", memory="fifo", capacity=32, embedding=embedding)
        run(model, STREAM[:3])
        forwards[embedding] = model.method.cost.summary()["total"]["forwards"]
    assert forwards == {"features": 3, "probs": 5}


def test_a_network_without_a_linear_classifier_is_refused():
    with pytest.raises(GottaError, match="linear layer"):
        build("t3a", nn.Sequential(nn.Conv2d(3, 10, 16), nn.Flatten()))

    class Odd(nn.Sequential):
        def forward(self, x):
            return super().forward(x)[:, :7]

    with pytest.raises(GottaError, match="linear classifier"):
        build("t3a", Odd(nn.Flatten(), nn.Linear(3 * 16 * 16, 10)), num_classes=7)(STREAM[0])
