"""RDumb beside its published code, and `reset_every` for any method."""

import numpy as np
import pytest
import torch
from rivals import assert_same, assert_same_parameters, build, published, run
from tiny import net_for, seeded_net

import gotta
from gotta import GottaError, list_methods
from gotta.methods import Method, methods

ADAPTING = [
    name for name in list_methods() if methods.get(name).adapt is not Method.adapt and methods.get(name).uses_memory
]
FAST = {"cotta": {"copies": 2}, "energy": {"steps": 2, "buffer_size": 40}, "foa": {"population": 4}}


def images(count):
    draws = torch.Generator().manual_seed(0)
    return [torch.rand(8, 3, 8, 8, generator=draws) for _ in range(count)]


def test_the_published_trajectory():
    recorded = published("rdumb")
    model = build("rdumb", lr=5e-3, optimizer="sgd", reset_every=4)
    logits, _ = run(model)
    assert_same(logits, recorded["logits"], 2e-4)
    assert_same(model.method.q, recorded["q"][-1], 1e-5)
    assert_same_parameters(model, recorded, 2e-5)


def test_without_the_reset_it_is_eta():
    settings = {"lr": 5e-3, "optimizer": "sgd"}
    rdumb, eta = build("rdumb", **settings), build("eta", **settings)
    assert torch.equal(run(rdumb)[0], run(eta)[0])
    assert not np.allclose(run(build("eta", **settings))[0][4:], published("rdumb")["logits"][4:], atol=1e-3)


@pytest.mark.parametrize("method", ADAPTING)
def test_any_method_starts_over(method):
    """After so many adaptations networks and optimizer are the source's; the memory and the draws go on."""
    settings = {**FAST.get(method, {}), "memory": "fifo", "capacity": 8, "pairing": "memory"}
    model = build(method, net_for(method), reset_every=3, **settings)
    start = model.method.state_dict()
    for number, x in enumerate(images(6), 1):
        model(x)
        now = model.method.state_dict()
        for part in ("optimizer", "remembers"):
            assert (number % 3 != 0) or repr(now[part]) == repr(start[part])
        if number % 3 == 0:
            for net in model.method.networks():
                assert all(torch.equal(value, now[net][name]) for name, value in start[net].items())
    assert len(model.memory) == 8
    assert model.adaptations == 6


def test_the_draws_of_a_second_round_are_others():
    model = build("rotta", seeded_net(), reset_every=1)
    x = images(1)[0]
    states = []
    for _ in range(2):
        model(x)
        states.append(model.method.generators["augment"].get_state())
    assert not torch.equal(*states)


def test_it_goes_on_from_a_saved_state(tmp_path):
    net = seeded_net()
    model = build("tent", net, reset_every=4)
    for x in images(3):
        model(x)
    model.save(tmp_path)
    other = gotta.load(tmp_path, net)
    for x in images(4):
        assert torch.equal(model(x), other(x))
    assert other.method.reset_every == 4


@pytest.mark.parametrize(("every", "words"), [(0, "at least 1"), (1.5, "whole number"), (True, "whole number")])
def test_a_wrong_interval_is_told(every, words):
    with pytest.raises(GottaError, match=words):
        build("tent", reset_every=every)


def test_a_method_that_never_adapts_cannot_start_over():
    with pytest.raises(GottaError, match="'source', which never adapts"):
        build("source", reset_every=10)


def test_a_step_that_is_taken_back_takes_the_reset_back():
    model = build("tent", seeded_net(), reset_every=2)
    first, second = images(2)
    model(first)
    before = model.model.bn1.weight.clone()
    start_over = model.method.start_over

    def interrupted():
        start_over()
        raise KeyboardInterrupt

    model.method.start_over = interrupted
    with pytest.raises(KeyboardInterrupt):
        model(second)
    assert torch.equal(model.model.bn1.weight, before)
    assert model.adaptations == 1
