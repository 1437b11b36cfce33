"""Methods that exchange BatchNorm layers take parametrised ones, as a plain network does."""

import pytest
import torch
from tiny import seeded_net
from torch import nn
from torch.nn.utils import parametrize

from gotta import adapt


class Doubled(nn.Module):
    def forward(self, weight):
        return 2 * weight


@pytest.mark.parametrize("method", ["tribe", "resitta", "rotta", "note", "delta"])
def test_it_predicts_as_with_the_weight_that_is_computed(method):
    parametrised, plain = seeded_net(), seeded_net()
    parametrize.register_parametrization(parametrised.bn1, "weight", Doubled())
    plain.bn1.weight.data.mul_(2)
    x = torch.rand(8, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    ours, theirs = adapt(parametrised, method), adapt(plain, method)
    torch.testing.assert_close(ours(x), theirs(x))
    assert torch.isfinite(ours(x)).all()
