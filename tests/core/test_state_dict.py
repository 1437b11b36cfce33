"""`state_dict` and what other frameworks make of it hold the whole adapted state, or are refused."""

import io

import pytest
import torch
from tiny import seeded_net
from torch import nn

import gotta
from gotta import GottaError

KINDS = {
    "deskew": {},
    "moments": {"statistics": "moments", "memory": "fps", "capacity": 8},
    "tent": {"method": "tent"},
    "norm": {"method": "norm"},
    "rotta": {"method": "rotta", "memory": "fps", "capacity": 8},
    "cotta": {"method": "cotta"},
    "guarded": {"method": "tent", "guard": "rollback"},
}


def images(seed, count=6):
    return torch.rand(count, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def used(settings, batches=4):
    model = gotta.adapt(seeded_net(), seed=3, **settings)
    for seed in range(batches):
        model(images(seed))
    return model


def as_file(state):
    """As a checkpoint would be written and read: tensors only, and no other code."""
    file = io.BytesIO()
    torch.save(state, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_dict_is_the_whole_state(kind):
    model, again = used(KINDS[kind]), gotta.adapt(seeded_net(), seed=3, **KINDS[kind])
    state = as_file(model.state_dict())
    assert all(isinstance(value, torch.Tensor) for value in state.values())
    again.load_state_dict(state)
    assert len(again.memory) == len(model.memory)
    assert again.offered == model.offered
    for seed in range(4, 8):
        assert torch.equal(again(images(seed)), model(images(seed)))


class Around(nn.Module):
    """As a Lightning module or any other has it: a part of something larger."""

    def __init__(self, settings):
        super().__init__()
        self.part, self.other = gotta.adapt(seeded_net(), seed=3, **settings), nn.Linear(2, 2)


def test_inside_another_module():
    around, again = Around(KINDS["rotta"]), Around(KINDS["rotta"])
    for seed in range(4):
        around.part(images(seed))
    again.load_state_dict(as_file(around.state_dict()))
    assert torch.equal(again.part(images(9)), around.part(images(9)))


def test_safetensors_holds_it(tmp_path):
    from safetensors.torch import load_file, save_file

    model, again = used(KINDS["rotta"]), gotta.adapt(seeded_net(), seed=3, **KINDS["rotta"])
    save_file(model.state_dict(), tmp_path / "model.safetensors")
    again.load_state_dict(load_file(tmp_path / "model.safetensors"))
    assert torch.equal(again(images(9)), model(images(9)))


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing():
    state = used(KINDS["tent"]).state_dict()
    for other in (gotta.adapt(seeded_net(), "norm"), gotta.adapt(seeded_net(seed=5), "tent", seed=3)):
        before = other.state_dict()
        with pytest.raises(GottaError, match=r"Build it alike|another network"):
            other.load_state_dict(state)
        assert all(torch.equal(value, before[name]) for name, value in other.state_dict().items())
    model = gotta.adapt(seeded_net(), "tent", seed=3)
    for wrong in (torch.zeros(9, dtype=torch.uint8), torch.ones(2), "text", state["_extra_state"][:-40]):
        with pytest.raises(GottaError, match="not of an adapted model"):
            model.load_state_dict({**state, "_extra_state": wrong})
    with pytest.raises(RuntimeError, match="_extra_state"):
        model.load_state_dict({name: value for name, value in state.items() if name != "_extra_state"})
    assert torch.equal(model(images(9)), gotta.adapt(seeded_net(), "tent", seed=3)(images(9)))


class Versioned(nn.Conv2d):
    """Reads states of its first version, whose weights were half as large, as some layers of torchvision do theirs."""

    _version = 2

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
        if local_metadata.get("version", 1) < 2:
            state_dict[f"{prefix}weight"] = 2 * state_dict[f"{prefix}weight"]
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)


def test_layers_that_read_old_states_otherwise_read_these_as_new_ones(tmp_path):
    def build():
        with torch.random.fork_rng():
            torch.manual_seed(0)
            net = nn.Sequential(Versioned(3, 8, 3), nn.BatchNorm2d(8), nn.AdaptiveAvgPool2d(1), nn.Flatten())
            return gotta.adapt(net.append(nn.Linear(8, 5)), "tent")

    model = build()
    first = [model(images(seed)) for seed in range(2)]
    model.save(tmp_path / "state")
    again = build()
    again.load(tmp_path / "state")
    assert torch.equal(again(images(3)), model(images(3)))
    model.reset()
    assert all(torch.equal(model(images(seed)), first[seed]) for seed in range(2))
