"""Many streams through one network give what one model for each stream would."""

import warnings

import numpy as np
import pytest
import torch
from tiny import seeded_net

import gotta
from gotta.core.streams import rows_of
from gotta.priors import OrderWarning

CLASSES, SIZE = 4, 8


def net():
    return seeded_net()


def shifted(rng, stream, count):
    """Samples of a stream: each has a look of its own, which changes now and then."""
    x = torch.rand(count, 3, SIZE, SIZE, generator=rng)
    return (x * (0.5 + 0.3 * stream) + 0.2 * stream).clamp(0, 3)


def batches(streams=4, steps=12, of_each=4, seed=0):
    rng = torch.Generator().manual_seed(seed)
    order = np.random.default_rng(seed)
    for _ in range(steps):
        keys = order.permutation(np.repeat(np.arange(streams), of_each)).tolist()
        yield torch.cat([shifted(rng, key, 1) for key in keys]), keys


def compare(settings, **stream):
    """The largest difference between the logits of one model for all streams and of one for each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderWarning)
        together, alone, off = gotta.adapt(net(), **settings), {}, []
        for x, keys in batches(**stream):
            logits = together(x, stream=keys)
            for key, rows in rows_of(keys).items():
                model = alone.setdefault(key, gotta.adapt(net(), **settings))
                off.append(float((model(x[rows]) - logits[rows]).abs().max()))
        return max(off), together, alone


@pytest.mark.parametrize("of_each", [1, 4, 20])
@pytest.mark.parametrize(
    "settings",
    [
        {"method": "source"},
        {"method": "source", "prior": "sticky"},
        {"method": "source", "statistics": "gated", "prior": "ema"},
        {"method": "source", "statistics": "class"},
        {"method": "deskew"},
        {"method": "norm", "statistics": "running", "fed_by": "batch"},
        {"method": "norm", "memory": "fifo", "capacity": 8},
        {"method": "norm", "memory": "fps", "capacity": 8, "prior": "patient", "adapt_every": 4},
        {"method": "t3a"},
        {"method": "lame"},
    ],
    ids=lambda settings: "-".join(map(str, settings.values())),
)
def test_one_model_for_all_streams_gives_what_one_for_each_would(settings, of_each):
    off, together, alone = compare(settings, of_each=of_each, steps=60 // of_each + 6)
    assert off < 1e-4
    assert together.streams[-1] in alone
    assert sorted(together.streams) == sorted(alone)
    if together.method.statistics.watches:
        for key, held in together.held_streams.items():
            mine = alone[key].method.statistics.measure()
            assert held.statistics.measure() == mine


def test_the_levels_of_streams_go_different_ways():
    _, together, _ = compare({"method": "deskew"}, of_each=20, steps=20)
    levels = [held.statistics.levels for held in together.held_streams.values()]
    assert any(level.away for level in levels)  # or the comparison above would say nothing
    assert len({float(level.mean.sum()) for level in levels}) > 1


def test_samples_of_several_streams_are_one_forward():
    model, (x, keys) = gotta.adapt(net(), "source"), next(iter(batches()))
    assert model.step(x, stream=keys).cost["predict"]["forwards"] == 1
    running = gotta.adapt(net(), "norm", statistics="running", fed_by="batch")
    assert running.step(x, stream=keys).cost["predict"]["forwards"] == 1
    assert gotta.adapt(net(), "norm").step(x, stream=keys).cost["predict"]["forwards"] == 4
