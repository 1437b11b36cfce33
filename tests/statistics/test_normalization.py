"""The two moments that class statistics take of every sample and channel."""

import pytest
import torch

from gotta.statistics import normalization
from gotta.statistics.normalization import sample_moments


@pytest.mark.parametrize("shape", [(7, 3), (7, 3, 5), (7, 3, 5, 4), (0, 3, 5, 4), (7, 3, 5, 4, 2)])
@pytest.mark.parametrize("cached", [1, 150, 10_000])
@pytest.mark.parametrize("last", [False, True])
def test_moments_are_those_of_each_sample_however_few_are_squared_at_once(shape, cached, last, monkeypatch):
    """7 samples, three of them at a time if 150 numbers are cached: the last part is a shorter one."""
    monkeypatch.setattr(normalization, "CACHED", cached)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    if last and x.ndim > 3:
        x = x.to(memory_format=torch.channels_last if x.ndim == 4 else torch.channels_last_3d)
    rows = x.double().reshape(*shape[:2], -1) if len(x) else x.double().flatten(2)
    mean, square = sample_moments(x)
    torch.testing.assert_close(mean, rows.mean(2).float())
    torch.testing.assert_close(square, rows.square().mean(2).float())


def test_gradients_go_through_moments_of_any_number_of_samples(monkeypatch):
    monkeypatch.setattr(normalization, "CACHED", 1)
    x = torch.randn(4, 3, 5, 4).to(memory_format=torch.channels_last).requires_grad_()
    mean, square = sample_moments(x)
    (mean.sum() + square.sum()).backward()
    torch.testing.assert_close(x.grad, (1 + 2 * x.detach()) / 20)
