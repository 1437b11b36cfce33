"""Memory grows with what is stored and not with the square of the classes; what cannot be done is said."""

import pytest
import torch
from torch import nn

from gotta import GottaError, adapt

CLASSES = 30_000  # whose square would take 7 GB


def net(classes=CLASSES):
    pooled = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, classes)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), *pooled)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("eata", {}),
        ("sar", {}),
        ("lame", {}),
        ("deskew", {}),
        ("tent", {"memory": "fps", "capacity": 64}),
        ("rotta", {"memory": "cstu", "capacity": 64}),
    ],
)
def test_no_table_of_classes_by_classes_is_made(method, settings, monkeypatch):
    model = adapt(net(), method, **settings)
    model(torch.rand(4, 3, 8, 8))
    kept = model.memory.state_dict()
    assert all(value.numel() <= 64 * CLASSES for value in kept.values() if isinstance(value, torch.Tensor))
    assert model.memory._table.mean.size == 0


def test_what_would_take_minutes_is_refused():
    with pytest.raises(GottaError, match=r"compares each of 30,000 classes .* Expected at most 20,000"):
        adapt(net(), "t3a")(torch.rand(4, 3, 8, 8))


def test_a_memory_that_no_machine_could_fill_is_one_message(monkeypatch):
    model = adapt(net(100), "tent", memory="fifo", capacity=64, num_classes=100)
    monkeypatch.setattr(model.memory._table, "capacity", 1 << 50)  # more than there are addresses
    with pytest.raises(
        GottaError, match=r"1,125,899,906,842,624 samples with embeddings of 100 .* embedding='features'"
    ):
        model(torch.rand(4, 3, 8, 8))
