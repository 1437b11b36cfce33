"""RobustBN and IABN against the authors' layers, call by call."""

import json

import numpy as np
import pytest
import torch
from tiny import GOLDEN
from torch import nn

from gotta.methods.note import IABN
from gotta.methods.rotta import RobustBN
from gotta.statistics.normalization import batch_statistics, replace_batch_norms

FILES = sorted((GOLDEN / "layers").glob("*.npz"))
TOLERANCES = json.loads((GOLDEN / "tolerances.json").read_text())["layers"]


def layer_of(file, name):
    plain = nn.BatchNorm1d if "1d" in name else nn.BatchNorm2d
    tracked = "mean_init" in file
    batch_norm = plain(6, eps=float(file["eps"]), track_running_stats=tracked)
    with torch.no_grad():
        batch_norm.weight.copy_(torch.from_numpy(file["weight"]))
        batch_norm.bias.copy_(torch.from_numpy(file["bias"]))
        if tracked:
            batch_norm.momentum = float(file["momentum"])
            batch_norm.running_mean.copy_(torch.from_numpy(file["mean_init"]))
            batch_norm.running_var.copy_(torch.from_numpy(file["var_init"]))
    return RobustBN(batch_norm) if name.startswith("robust") else IABN(batch_norm, float(file["k"]))


def test_every_recorded_layer_is_there():
    assert len(FILES) == 8


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_outputs_gradients_and_buffers(path):
    file = np.load(path)
    layer = layer_of(file, path.stem)
    assert int(file["steps"]) >= 3
    for step in range(int(file["steps"])):
        layer.train(bool(file[f"train{step}"]))
        layer.zero_grad()
        x = torch.from_numpy(file[f"x{step}"]).requires_grad_(True)
        y = layer(x)
        (y * torch.from_numpy(file[f"up{step}"])).sum().backward()
        got = {"y": y.detach(), "gx": x.grad, "gw": layer.weight.grad, "gb": layer.bias.grad}
        if f"mean{step}" in file:
            got |= {"mean": layer.running_mean, "var": layer.running_var}
        for name, value in got.items():
            np.testing.assert_allclose(value, file[f"{name}{step}"], **TOLERANCES, err_msg=f"{name}{step}")


@pytest.mark.bfloat16
def test_statistics_in_half_precision_move():
    layer = IABN(nn.BatchNorm2d(3).bfloat16())
    before = layer.running_mean.clone()
    assert layer(3 + torch.rand(8, 3, 4, 4).bfloat16()).dtype == torch.bfloat16
    assert not torch.equal(layer.running_mean, before)


def test_a_layer_used_twice_stays_one():
    shared = nn.BatchNorm2d(3)
    net = nn.Sequential(shared, nn.ReLU(), nn.Sequential(shared))
    replace_batch_norms(net, RobustBN)
    assert isinstance(net[0], RobustBN)
    assert net[0] is net[2][0]
    assert net[0].weight is shared.weight


@pytest.mark.parametrize("make", [RobustBN, IABN])
def test_at_rate_0_the_batch_normalises_and_nothing_moves(make):
    layer = make(nn.BatchNorm2d(3)).eval()
    before = layer.running_mean.clone()
    x = 3 + torch.rand(8, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    with batch_statistics(layer, 0.0):
        y = layer(x)
    assert torch.equal(layer.running_mean, before)
    assert y.mean((0, 2, 3)).abs().max() < 0.1
    with batch_statistics(layer, 0.5):
        layer(x)
    assert not torch.equal(layer.running_mean, before)


@pytest.mark.parametrize("plain", [nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d])
@pytest.mark.parametrize("make", [RobustBN, IABN])
@pytest.mark.parametrize("affine", [True, False])
def test_any_number_of_dimensions(plain, make, affine):
    dims = {nn.BatchNorm1d: (5,), nn.BatchNorm2d: (5, 5), nn.BatchNorm3d: (2, 3, 4)}[plain]
    layer = make(plain(3, affine=affine))
    x = torch.rand(4, 3, *dims, generator=torch.Generator().manual_seed(0))
    for training in (True, False):
        y = layer.train(training)(x)
        assert y.shape == x.shape
        assert torch.isfinite(y).all()
