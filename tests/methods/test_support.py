"""What predictions lean on besides the network. What is made of it: test_t3a.py, test_cache.py, test_lame.py."""

import pytest
import torch
from tiny import seeded_net
from torch import nn

from gotta import GottaError, adapt
from gotta.methods import Method, methods
from gotta.methods.support import Reader, find_classifier, most_certain

READERS = ["cache", "lame", "t3a"]


def images(size, seed=0):
    return torch.rand(size, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def test_the_readers_are_these():
    assert [name for name in methods.names() if issubclass(methods.get(name), Reader)] == READERS


@pytest.mark.parametrize("name", READERS)
def test_a_reader_without_features_says_what_it_needs(name):
    net = nn.Sequential(nn.Conv2d(3, 10, 8), nn.Flatten())
    with pytest.raises(GottaError, match=f"method '{name}' needs features, .* linear layer at its end"):
        adapt(net, name, num_classes=10)


@pytest.mark.parametrize("name", READERS)
def test_a_reader_changes_no_weight_and_feeds_running_statistics_from_the_memory(name):
    model = adapt(seeded_net(), name, "fifo", 8, 10, statistics="running", rate=0.5, adapt_every=8)
    before = {key: value.clone() for key, value in model.model.state_dict().items()}
    model(images(8))
    changed = {key for key, value in model.model.state_dict().items() if not torch.equal(value, before[key])}
    assert changed
    assert all("running" in key or "num_batches" in key for key in changed)


def test_the_memorys_rows_come_before_the_batch():
    model = adapt(seeded_net(), "t3a", "fifo", 4, 10)
    model(images(4))
    held, x = model.memory.peek(), images(6, seed=1)
    own = Method.predict(model.method, x)
    logits, features = model.method.gather(own)
    assert (len(logits), len(features)) == (10, 10)
    torch.testing.assert_close(logits[:4], seeded_net().eval()(held.x))
    assert torch.equal(logits[4:], own.logits)
    assert torch.equal(features[4:], own.features)


def test_stored_features_give_the_logits_that_a_forward_would():
    found = {}
    for embedding in ("probs", "features"):
        model = adapt(seeded_net(), "t3a", "fifo", 4, 10, embedding=embedding)
        model(images(4))
        found[embedding] = model.method.recall(model.memory.peek())
    torch.testing.assert_close(found["probs"], found["features"])


def test_the_classifier_is_the_networks_own_or_the_last_linear_layer_of_that_width():
    net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    assert find_classifier(net, 6) is net[2]
    assert find_classifier(net, 4) is None
    assert find_classifier(nn.ReLU(), 4) is None
    net.classify = nn.Identity()
    assert find_classifier(net, 4) is net.classify


class Company(nn.Module):
    """A network whose logits come in a dictionary; in `Whole` its classifier gives that, too."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(192, 10)

    def forward(self, x):
        return {"scores": self.head(x.flatten(1))}


class Whole(Company):
    def features(self, x):
        return x.flatten(1)

    def classify(self, features):
        return {"scores": self.head(features)}


@pytest.mark.parametrize("output", ["scores", lambda given: given["scores"]], ids=["named", "function"])
@pytest.mark.parametrize("kind", [Company, Whole])
@pytest.mark.parametrize("name", [*READERS, "neo", "cofa"])
def test_features_are_classified_wherever_the_logits_are(name, kind, output):
    memory = {"memory": "fifo", "capacity": 4, "embedding": "features"} if name in READERS else {}
    net = kind()
    given = adapt(net, name, output=output, **memory)
    expected = adapt(nn.Sequential(nn.Flatten(), net.head), name, **memory)
    for seed in range(2):
        answer = given(images(4, seed))
        assert torch.equal(answer if callable(output) else answer["scores"], expected(images(4, seed)))


def test_the_surest_of_each_class_are_kept_and_of_equal_ones_the_earlier():
    label = torch.tensor([1, 0, 1, 1, 0, 2])
    uncertain = torch.tensor([0.5, 0.1, 0.2, 0.5, 0.3, 0.9])
    assert most_certain(label, uncertain, 1).tolist() == [False, True, True, False, False, True]
    assert most_certain(label, uncertain, 2).tolist() == [True, True, True, False, True, True]
    assert most_certain(label[:0], uncertain[:0], 2).tolist() == []


class Vandal(Reader):
    """Writes into whatever it is shown."""

    def predict(self, x):
        rows = self.held()
        for column in () if rows is None else (rows.x, rows.label, rows.uncertainty, rows.embedding, rows.age):
            column.zero_()
        return super().predict(x)


class Onlooker(Reader):
    """Only looks."""


def test_what_a_prediction_writes_into_the_rows_it_is_shown_has_no_effect():
    vandal, onlooker = (
        adapt(seeded_net(), f"{__name__}:{kind}", "fps", 12, 10, pairing="paper") for kind in ("Vandal", "Onlooker")
    )
    for seed in range(4):
        assert torch.equal(vandal(images(8, seed)), onlooker(images(8, seed)))
    written, left = vandal.memory.peek(), onlooker.memory.peek()
    assert left.x.any()
    for column in ("x", "label", "uncertainty", "embedding", "age"):
        assert torch.equal(getattr(written, column), getattr(left, column))
