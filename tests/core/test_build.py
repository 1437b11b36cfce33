"""One builder for `adapt`, for runs and for estimates; the memory tells by itself whether it lasts."""

import pytest
import torch
from tiny import seeded_net
from torch import nn
from whole_state import frozen_state

import gotta
from gotta import GottaError, Memory, adapt
from gotta.core.build import build
from gotta.memory import policies
from gotta.statistics import Running

CLASSES = 10


def images(seed, size=8):
    return torch.rand(size, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def test_adapt_makes_the_choices_and_build_joins():
    chosen = adapt(seeded_net(), "rotta", "fps", 6, CLASSES, guard="freeze", lr=0.01, seed=4)
    memory = Memory("fps", 6, CLASSES, seed=4)
    statistics = Running("memory", 0.05)
    joined = build(seeded_net(), "rotta", memory, statistics, 6, seed=4, guard="freeze", lr=0.01)
    for seed in range(4):
        assert torch.equal(chosen(images(seed)), joined(images(seed)))
    assert frozen_state(chosen) == frozen_state(joined)


def test_the_guard_keeps_the_source_as_it_was_and_one_account():
    model = adapt(seeded_net(), "note", guard="warn")
    assert type(model.guard.source.model.bn1) is nn.BatchNorm2d
    assert model.guard.source.cost is model.method.cost


def test_an_adapted_model_writes_into_none_of_its_parts_but_lets_the_method_read_the_memory():
    net = seeded_net()
    method = gotta.methods.methods.build("tent", model=net)
    memory = Memory("fps", 6, CLASSES)
    before = {name: dict(vars(part)) for name, part in (("method", method), ("memory", memory))}
    hooks = [dict(module._forward_hooks) | dict(module._forward_pre_hooks) for module in net.modules()]
    gotta.Adapted(method, memory, 6)
    before["method"]["peek"] = memory.peek
    assert {name: dict(vars(part)) for name, part in (("method", method), ("memory", memory))} == before
    assert [dict(module._forward_hooks) | dict(module._forward_pre_hooks) for module in net.modules()] == hooks


@pytest.mark.parametrize("name", gotta.list_memories())
def test_only_the_memory_of_the_current_batch_does_not_last(name):
    memory = Memory(name, 4, CLASSES)
    assert memory.lasts == (name != "none")
    assert Memory(policies.build(name), 4, CLASSES).lasts == memory.lasts


def test_a_memory_that_is_late_to_know_its_classes():
    memory = Memory("cstu", 4, seed=2)
    assert not memory.knows_classes
    memory.expect(3)
    assert (memory.knows_classes, memory.num_classes) == (True, 3)
    with pytest.raises(GottaError, match="5 classes do not fit a memory for 3"):
        memory.expect(5)
    memory.forget_classes()
    memory.expect(5)
    assert memory.num_classes == 5
    told = Memory("cstu", 4, 3)
    told.forget_classes()
    assert told.knows_classes


@pytest.mark.parametrize(
    "mistake",
    [
        {"method": 5},
        {"memory": 5},
        {"capacity": "many"},
        {"capacity": float("nan")},
        {"num_classes": -1},
        {"adapt_every": "often"},
        {"seed": "x"},
        {"policy": 3},
        {"rate": "fast"},
        {"guard": 1},
        {"lr": "high"},
        {"embedding": 7},
        {"score": "never"},
    ],
)
def test_any_wrong_argument_is_one_kind_of_error(mistake):
    arguments = {"method": "tent", "memory": "fps", "capacity": 4, **mistake}
    with pytest.raises(GottaError):
        adapt(seeded_net(), **arguments)(images(0))
