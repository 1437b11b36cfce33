"""LAME: equal to its authors' code (fiveai/LAME, commit d2e5f63), run aside in float64, and what memory adds."""

import re

import numpy as np
import pytest
import torch
from tiny import GOLDEN, golden_net, seeded_net
from torch import nn

from gotta import GottaError, adapt
from gotta.methods.lame import smooth_over, weigh_neighbours

RECORDED = np.load(GOLDEN / "lame" / "lame.npz")
CASES = [name for name in RECORDED.files if re.fullmatch(r"\w+\.(knn|rbf|linear)\.\d\.\d", name)]


def images(size, seed=0):
    return torch.rand(size, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


class Given(nn.Module):
    """Hands out recorded features and logits; its input is the number of each sample."""

    def __init__(self, logits, features):
        super().__init__()
        self.known, self.table = nn.Parameter(torch.from_numpy(logits)), torch.from_numpy(features)

    def features(self, x):
        return self.table[x[:, 0].long()]

    def classify(self, features):
        return self.known[torch.cdist(features, self.table).argmin(1)]

    def forward(self, x):
        return self.classify(self.features(x))


def recorded_net(name):
    logits, features = (RECORDED[f"{name}.{part}"] for part in ("logits", "features"))
    return Given(logits, features), torch.arange(len(logits)).float()[:, None]


@pytest.mark.parametrize("case", CASES)
def test_equals_the_published_code(case):
    name, affinity, k, symmetric = case.split(".")
    net, x = recorded_net(name)
    model = adapt(net, "lame", affinity=affinity, k=int(k), symmetric=bool(int(symmetric)))
    np.testing.assert_allclose(model(x).softmax(1).numpy(), RECORDED[case], atol=1e-6)
    assert (model(x).argmax(1).numpy() == RECORDED[case].argmax(1)).all()


def test_every_affinity_was_recorded():
    assert len(CASES) == 3 * (4 + 2 + 2)


@pytest.mark.parametrize("affinity", ["knn", "rbf", "linear"])
def test_equals_the_published_code_along_a_stream(affinity):
    common = np.load(GOLDEN / "methods" / "common.npz")
    model = adapt(golden_net(common), "lame", affinity=affinity)
    for x, recorded in zip(common["stream_u8"][:4], RECORDED[f"stream.{affinity}"], strict=True):
        found = model(torch.from_numpy(x).float() / 255).softmax(1).numpy()
        np.testing.assert_allclose(found, recorded, atol=1e-6)


def test_rows_of_the_memory_are_nodes_like_the_batch():
    """The batch beside the rows is smoothed as one batch of both would be."""
    net, x = recorded_net("batch")
    model = adapt(net, "lame", "fifo", 40, 10, adapt_every=1000)
    model(x[:40])
    whole = adapt(net, "lame")(torch.cat([x[40:], x[:40]]))
    held = model.memory.peek().x[:, 0].long().tolist()
    assert sorted(held) == list(range(40))
    torch.testing.assert_close(model(x[40:]), whole[:24])


def test_rows_change_predictions_and_nothing_else():
    plain, remembering = adapt(seeded_net(), "lame"), adapt(seeded_net(), "lame", "pbrs", 16, 10)
    start = remembering.method.state_dict()["model"]
    differences = [(plain(images(8, s)) - remembering(images(8, s))).abs().max() for s in range(3)]
    assert differences[0] == 0 < differences[1]
    for name, value in remembering.method.state_dict()["model"].items():
        assert torch.equal(value, start[name])


def test_only_without_a_memory_the_samples_before_do_not_matter():
    assert adapt(seeded_net(), "lame").method.stands_still
    assert not adapt(seeded_net(), "lame", "fifo", 4, 10).method.stands_still
    assert adapt(seeded_net(), "lame", prior="sticky").method.stands_still is False


def test_a_sample_alone_keeps_its_prediction():
    net = seeded_net()
    torch.testing.assert_close(adapt(net, "lame")(images(1)).softmax(1), net(images(1)).softmax(1))


@pytest.mark.parametrize("affinity", ["knn", "rbf", "linear"])
@pytest.mark.parametrize("size", [1, 2, 6])
def test_equal_samples_give_finite_predictions(affinity, size):
    model = adapt(seeded_net(), "lame", "fifo", 4, 10, affinity=affinity, k=1)
    for _ in range(3):
        assert torch.isfinite(model(torch.ones(size, 3, 8, 8))).all()


def test_neighbours_are_others_only():
    weights = weigh_neighbours(torch.eye(4, dtype=torch.float64), "knn", 2)
    assert weights.diagonal().tolist() == [0.0] * 4
    assert weights.sum(1).tolist() == [2.0] * 4


def test_without_neighbours_nothing_is_smoothed():
    probs = torch.tensor([[0.7, 0.3], [0.1, 0.9]], dtype=torch.float64)
    torch.testing.assert_close(smooth_over(torch.zeros(2, 2, dtype=torch.float64), probs), probs)


def test_one_doubtful_sample_follows_its_neighbours():
    probs = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.45, 0.55]], dtype=torch.float64)
    kernel = 1 - torch.eye(3, dtype=torch.float64)
    assert smooth_over(kernel, probs)[2].argmax() == 0


def test_what_cannot_be_is_told():
    with pytest.raises(GottaError, match=r"Did you mean 'knn'"):
        adapt(seeded_net(), "lame", affinity="kn")
    headless = nn.Sequential(nn.Conv2d(3, 5, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    with pytest.raises(GottaError, match="has none to take"):
        adapt(headless, "lame")
