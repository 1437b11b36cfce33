"""The cache beside TDA's published code, which takes one sample at a time."""

import pytest
import torch
from rivals import STREAM, assert_same, build, published
from torch import nn

ONE_BY_ONE = STREAM[:, :10].flatten(0, 1)[:, None]
EVERYTHING = {"memory": "fifo", "capacity": 100, "embedding": "features"}


@pytest.mark.parametrize(
    ("name", "settings"), [("tda", {"quirks": "published"}), ("tda_positive", {"preset": "positive", "alpha": 5.0})]
)
def test_the_published_trajectory(name, settings):
    model = build("cache", **EVERYTHING, **settings)
    logits = torch.cat([model(x) for x in ONE_BY_ONE])
    assert_same(logits, published(name)["logits"])


def test_a_row_speaks_for_its_class_by_its_likeness():
    model = build("cache", preset="positive", memory="fifo", capacity=2, alpha=1.0, beta=2.0)
    first, second = STREAM[0][:1], STREAM[1][:1]
    model.step(first)
    prediction = model.step(second).prediction
    features = model.method.consult(torch.cat([first, second]))[1]
    likeness = torch.cosine_similarity(features[:1], features[1:])
    added = prediction.logits - prediction.raw.logits
    expected = torch.zeros(10)
    expected[model.model(first).argmax()] += (-2 * (1 - likeness)).exp().item()
    expected[model.model(second).argmax()] += 1
    torch.testing.assert_close(added[0], expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("norm", [nn.Identity, lambda channels: nn.LayerNorm([channels, 8, 8])])
def test_networks_without_batch_norm_will_do(norm):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), norm(4), nn.Flatten(), nn.Linear(256, 10))
    model = build("cache", net, memory="fps", capacity=8)
    x = torch.rand(8, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    assert not torch.equal(model(x), model(x))
    assert model.method.cost.summary()["total"]["backwards"] == 0


def test_rows_of_middling_entropy_speak_against_what_they_could_be():
    x = STREAM[0]
    both, positive = build("cache"), build("cache", preset="positive")
    against = positive(x) - both(x)
    assert (against >= 0).all()
    assert (against > 0).any()
