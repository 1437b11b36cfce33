import pytest
import torch
from tiny import seeded_net

import gotta
from gotta import GottaError
from gotta.core import saved
from gotta.serve.one_stream import OneStream, can_share


def build(seed=0, **settings):
    return gotta.adapt(seeded_net(seed=seed), num_classes=10, **settings)


def batch(seed):
    return torch.rand(6, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


WITH_MEMORY = {"method": "norm", "memory": "fifo", "capacity": 8}


@pytest.mark.parametrize("settings", [{"prior": "ema"}, WITH_MEMORY], ids=["prior", "memory"])
def test_a_stream_moves_to_another_model_and_goes_on_bit_for_bit(tmp_path, settings):
    here, there = build(**settings), build(**settings)
    for seed in range(3):
        here(batch(seed), stream=["a", "b"] * 3)
    OneStream(here, "a").save(tmp_path, {"note": 1})
    there(batch(9), stream="c")
    assert OneStream(there, "a").load(tmp_path) == {"note": 1}
    assert sorted(there.streams) == ["a", "c"]
    assert torch.equal(here(batch(5), stream="a"), there(batch(5), stream="a"))
    assert not torch.equal(here(batch(6), stream="a"), there(batch(6), stream="b")), "what was seen before matters"


@pytest.mark.parametrize("settings", [{"prior": "ema"}, WITH_MEMORY], ids=["prior", "memory"])
def test_a_fresh_model_takes_it_too_and_the_network_is_not_in_it(tmp_path, settings):
    here = build(**settings)
    here(batch(0), stream="a")
    OneStream(here, "a").save(tmp_path, {})
    there = build(**settings)
    OneStream(there, "a").load(tmp_path)
    assert torch.equal(here(batch(1), stream="a"), there(batch(1), stream="a"))
    _, state = saved.read(tmp_path, 1 << 20, 100)
    assert (state["method"], len(state["streams"])) == (None, 1)


def test_a_state_that_does_not_fit_changes_nothing(tmp_path):
    here, other = build(), build(seed=1)
    here(batch(0), stream="a")
    OneStream(here, "a").save(tmp_path, {})
    other(batch(1), stream="b")
    with pytest.raises(GottaError, match="another network"):
        OneStream(other, "a").load(tmp_path)
    assert other.streams == ["b"]


def test_what_trains_or_watches_needs_a_network_for_each_stream():
    assert can_share(build())
    assert can_share(build(**WITH_MEMORY))
    assert not can_share(build(method="tent"))
    assert not can_share(build(guard="warn"))
    assert not can_share(build(shadow=True))
