"""Which samples are copies, and where that cannot be told."""

import pytest
import torch
from tiny import seeded_net
from torch import nn

from gotta import adapt
from gotta.statistics.levels.look import find_repeated


class Flat(nn.Module):
    """BatchNorm over the positions of all samples: its rows are not the samples."""

    def __init__(self, spare=False):
        super().__init__()
        self.spare, self.net = nn.BatchNorm2d(5) if spare else nn.Identity(), seeded_net()
        self.first = nn.Identity() if spare else nn.BatchNorm1d(3)

    def forward(self, x):
        rows = self.first(x.permute(0, 2, 3, 1).reshape(-1, 3))
        return self.net(rows.reshape(len(x), 8, 8, 3).permute(0, 3, 1, 2))


@pytest.mark.parametrize("spare", [True, False])
def test_a_first_layer_that_is_idle_or_has_other_rows_makes_no_samples_the_same(spare):
    model = adapt(Flat(spare).eval(), "deskew")
    for seed in range(3):
        model(torch.rand(20, 3, 8, 8, generator=torch.Generator().manual_seed(seed)))
    assert model.method.statistics.levels.samples > 50


def test_copies_are_found_wherever_they_stand_and_however_many_are_compared_at_once(monkeypatch):
    rows = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
    for at, like, error in ((7, 2, 0), (30, 5, 0), (31, 30, 1e-6), (39, 20, 1e-3)):
        rows[at] = rows[like] * (1 + error)
    whole = find_repeated(rows, 4)
    assert whole.nonzero().flatten().tolist() == [3, 26, 27]
    monkeypatch.setattr("gotta.statistics.levels.look.PAIRS", 1)
    assert torch.equal(find_repeated(rows, 4), whole)
