"""Saving, loading and going back: everything a method remembers."""

import json
from copy import deepcopy

import pytest
import torch
from tiny import net_for

from gotta import adapt, list_methods
from gotta.methods import methods

CLASSES = 10
STATELESS = ("source", "lame", "t3a", "cache")  # whatever the stream, nothing of the method itself changes
FAST = {
    "cotta": {"copies": 2, "anchor_threshold": 2.0},
    "energy": {"steps": 2, "buffer_size": 40},
    "foa": {"population": 4},
}
FAST |= {"pl": {"threshold": 0.0}, "sar": {"e_margin": 9.0}, "deyo": {"e_margin": 9.0, "plpd_threshold": 0.0}}
FAST |= {"delta": {"e_margin": 9.0}, "tribe": {"margin": 9.0}}
FAST["eta"] = FAST["eata"] = FAST["rdumb"] = {"e_margin": 9.0, "d_margin": 9.0}


def batches(count=6, size=16, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return [torch.rand(size, 3, 8, 8, generator=rng) for _ in range(count)]


def build(method, memory="none", **settings):
    memory = memory if methods.get(method).uses_memory else "none"
    capacity = None if memory == "none" else 12
    settings = {"pairing": "safe" if memory != "none" else "paper", **FAST.get(method, {}), **settings}
    return adapt(net_for(method), method, memory, capacity, CLASSES, **settings)


def flat(value, path=""):
    """Every leaf of a nested state, by its path; anything but dicts and lists of plain values is refused."""
    if isinstance(value, dict):
        assert all(isinstance(key, str) for key in value), path
        return {k: v for key, inner in value.items() for k, v in flat(inner, f"{path}/{key}").items()}
    if isinstance(value, list):
        return {k: v for place, inner in enumerate(value) for k, v in flat(inner, f"{path}/{place}").items()}
    assert value is None or type(value) in (torch.Tensor, int, float, bool, str), f"{path}: {type(value)}"
    return {path: value}


def equal(a, b):
    a, b = flat(a), flat(b)
    return a.keys() == b.keys() and all(
        torch.equal(v, b[k]) if isinstance(v, torch.Tensor) else v == b[k] for k, v in a.items()
    )


@pytest.mark.parametrize("method", list_methods())
def test_a_state_is_made_of_tensors_and_plain_values(method):
    model = build(method, "fifo")
    for x in batches(3):
        model(x)
    leaves = flat(model.method.state_dict())
    json.dumps({path: value for path, value in leaves.items() if not isinstance(value, torch.Tensor)})
    assert any(isinstance(value, torch.Tensor) for value in leaves.values())


@pytest.mark.parametrize("memory", ["none", "fifo"])
@pytest.mark.parametrize("method", list_methods())
def test_loaded_in_the_middle_it_goes_on_the_same(method, memory):
    one, two = build(method, memory), build(method, memory, seed=0)
    stream = batches()
    for x in stream[:3]:
        one(x)
    saved = one.method.state_dict()
    two.method.load_state_dict(saved)
    two.memory.load_state_dict(one.memory.state_dict())
    two.offered, two.turns, two.adaptations = one.offered, one.turns, one.adaptations
    assert all(torch.equal(one(x), two(x)) for x in stream[3:])
    assert equal(one.method.state_dict(), two.method.state_dict())
    assert not equal(saved, one.method.state_dict()) or method in STATELESS


@pytest.mark.parametrize("memory", ["none", "fifo"])
@pytest.mark.parametrize("method", list_methods())
def test_a_reset_brings_back_everything(method, memory):
    model = build(method, memory)
    start = model.method.state_dict()
    for x in batches(4):
        model(x)
    assert not equal(start, model.method.state_dict()) or method in STATELESS
    model.reset()
    assert equal(start, model.method.state_dict())


def test_what_is_saved_does_not_change_afterwards():
    model = build("rotta", "fifo")
    model(batches(1)[0])
    saved = model.method.state_dict()
    copy = model.method.state_dict()
    for x in batches(3):
        model(x)
    assert equal(saved, copy)


def test_every_network_and_memory_of_a_method_is_in_its_state():
    expected = {
        "rotta": {"teacher"},
        "resitta": {"teacher"},
        "petta": {"teacher", "anchor"},
        "tribe": {"teacher", "anchor"},
        "cotta": {"teacher", "anchor", "remembers/turn"},
        "eata": {"remembers/q"},
        "roid": {"remembers/mean_probs"},
        "sar": {"remembers/ema"},
        "energy": {"remembers/turn", "remembers/buffer"},
    }
    for method, parts in expected.items():
        model = build(method, statistics="batch", **({"recover_below": 0.0} if method == "sar" else {}))
        for x in batches(2):
            model(x)
        leaves = flat(model.method.state_dict())
        for part in parts:
            held = [value for path, value in leaves.items() if path.startswith(f"/{part}")]
            assert held, part
            assert all(value is not None for value in held)


def test_recovery_of_sar_clears_what_it_should():
    for quirks, ema_kept, momentum_kept in [((), False, False), ({"keep_ema"}, True, False), ("published", True, True)]:
        model = build("sar", statistics="batch", recover_below=9.0, quirks=quirks)
        start = model.model.bn1.weight.clone()
        outcome = model.step(batches(1)[0])
        assert outcome.diagnostics["recovered"] == 1
        assert torch.equal(model.model.bn1.weight, start)
        assert (model.method.ema is not None) == ema_kept
        assert bool(model.method.optimizer.state) == momentum_kept


def test_eata_forgets_its_average_at_a_reset_unless_asked():
    for quirks, kept in (((), False), ({"keep_q"}, True)):
        model = build("eata", statistics="batch", quirks=quirks)
        model(batches(1)[0])
        assert model.method.q is not None
        model.reset()
        assert (model.method.q is not None) == kept


def test_the_names_of_the_registry_are_the_names_in_messages():
    for name in methods.names():
        assert methods.get(name).__name__.lower() == name


@pytest.mark.parametrize("method", list_methods())
def test_a_deep_copy_goes_its_own_way(method):
    one = build(method, "fifo")
    one(batches(1)[0])
    two = deepcopy(one)
    later = batches(3, seed=1)
    first = [one(x) for x in later]
    assert all(torch.equal(a, two(x)) for a, x in zip(first, later, strict=True))
