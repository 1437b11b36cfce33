"""Adapting on weighted rows is adapting on as many copies of them."""

from typing import Any

import pytest
import torch
from rivals import STREAM, build
from tiny import seeded_net
from torch import nn

from gotta.methods import methods
from gotta.methods.parts.row_weights import average, average_rows, counting_rows
from gotta.types import MemoryBatch

SETTINGS: dict[str, dict[str, Any]] = {
    "cotta": {"augment": lambda x: x.flip(-1), "restore": 0.0, "copies": 2},
    "deyo": {"augment": torch.zeros_like, "plpd_threshold": 0.0, "e_margin": 9.0},
    "petta": {"augment": lambda x: x.flip(-1)},
    "resitta": {"augment": lambda x: x.flip(-1)},
    "roid": {"augment": lambda x: x.flip(-1)},
    "rotta": {"augment": lambda x: x.flip(-1)},
    "tribe": {"augment": lambda x: x.flip(-1), "margin": 9.0},
    "eata": {"e_margin": 9.0, "d_margin": 2.0},
    "eta": {"e_margin": 9.0, "d_margin": 2.0},
    "rdumb": {"e_margin": 9.0, "d_margin": 2.0},
    "sar": {"e_margin": 9.0, "recover_below": 0.0, "lr": 0.1},
    "delta": {"e_margin": 9.0},
    "pl": {"threshold": 0.1},
    "shot": {"threshold": 0.1},
}
# Three never adapt to rows; energy dreams as many images as there are rows; foa needs another network (test_foa.py).
NOT_COMPARED = {"source", "deskew", "cofa", "energy", "foa", "neo"}
READ_ONLY = {"cache", "lame", "t3a"}


def rows(seed: int, weight: torch.Tensor | None) -> MemoryBatch:
    x = STREAM.flatten(0, 1)[40 * seed : 40 * seed + 12].double()
    label, age = torch.arange(12) % 5, torch.arange(12)
    uncertainty = torch.linspace(0, 1, 12, dtype=torch.float64)
    if weight is None:
        weight = torch.tensor([1, 3, 1, 1, 2, 5, 1, 1, 1, 2, 1, 4], dtype=torch.float64)
        return MemoryBatch(x, label, uncertainty, x.flatten(1)[:, :3], age, 12, weight)
    times = weight.long()
    held = (value.repeat_interleave(times, 0) for value in (x, label, uncertainty, x.flatten(1)[:, :3], age))
    return MemoryBatch(*held, 12)


@pytest.mark.parametrize("name", sorted(set(methods.names()) - NOT_COMPARED))
def test_a_row_of_weight_three_is_three_rows(name: str) -> None:
    settings = {"memory": "fps", "capacity": 12, **SETTINGS.get(name, {})}
    weighted, copied, alike = (build(name, seeded_net().double(), **settings) for _ in range(3))
    losses = []
    for seed in range(3):
        batch = rows(seed, None)
        assert batch.weight is not None
        once = MemoryBatch(batch.x, batch.label, batch.uncertainty, batch.embedding, batch.age, 12)
        many = rows(seed, batch.weight)
        measured = [model.method.adapt(b) for model, b in ((weighted, batch), (copied, many), (alike, once))]
        losses.append([m.get("loss", 0.0) for m in measured])
    for mine, theirs, _ in losses:
        assert mine == pytest.approx(theirs, abs=1e-7)
    x = STREAM[5].double()
    said = [model.method.predict(x).logits for model in (weighted, copied, alike)]
    assert torch.allclose(said[0], said[1], atol=1e-6)
    if name not in READ_ONLY:
        assert not torch.allclose(said[0], said[2], atol=1e-6), "weights change nothing"


def test_energy_weighs_the_samples_it_makes_likely() -> None:
    weighted, copied = (build("energy", seeded_net().double(), memory="fps", capacity=12) for _ in range(2))
    batch = rows(0, None)
    many = rows(0, batch.weight)
    mine = average(weighted.method.training_logits(batch.x, weight=batch.weight).logsumexp(1), batch.weight)
    assert float(mine.detach()) == pytest.approx(
        float(copied.method.training_logits(many.x).logsumexp(1).mean().detach()), abs=1e-9
    )


class BatchNormWithActivation(nn.BatchNorm2d):
    """A layer with a forward of its own, as some networks have."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return super().forward(input).relu()


@pytest.mark.parametrize("kind", [nn.BatchNorm2d, BatchNormWithActivation])
def test_statistics_of_any_batch_norm_are_those_of_copies(kind: type[nn.BatchNorm2d]) -> None:
    x, weight = torch.rand(4, 3, 5, 5, generator=torch.Generator().manual_seed(0)), torch.tensor([1.0, 2.0, 1.0, 4.0])
    mine, theirs = kind(3).train(), kind(3).train()
    with counting_rows(mine, weight):
        out = mine(x)
    expected = theirs(x.repeat_interleave(weight.long(), 0))
    assert torch.allclose(out.repeat_interleave(weight.long(), 0), expected, atol=1e-6)
    assert torch.allclose(mine.running_mean, theirs.running_mean, atol=1e-6)
    assert torch.allclose(mine.running_var, theirs.running_var, atol=1e-6)
    assert torch.equal(mine(x), mine(x)), "afterwards every row counts once"
    assert torch.allclose(mine(x), kind(3).train()(x))


def test_means_by_hand() -> None:
    values, weight = torch.tensor([[1.0, 3.0], [5.0, 7.0]]), torch.tensor([3.0, 1.0], dtype=torch.float64)
    assert average(values[:, 0], weight) == 2.0
    assert average(values, weight) == 3.0
    assert average_rows(values, weight).tolist() == [2.0, 4.0]
    assert average(values, None) == 4.0
