"""Adapted states by the hub's own mixin, in a folder; nothing is asked of a network."""

import sys

import pytest
import torch
from tiny import seeded_net
from whole_state import frozen_state

import gotta
from gotta import GottaError, adapt, hub


@pytest.fixture
def model():
    model = adapt(seeded_net(), "tent", "fps", 8, seed=3)
    model(torch.rand(8, 3, 8, 8, generator=torch.Generator().manual_seed(0)))
    return model


@pytest.fixture
def offline(monkeypatch):
    monkeypatch.setattr(pytest.importorskip("huggingface_hub.constants"), "HF_HUB_OFFLINE", True)


def test_a_state_goes_on_bit_for_bit(model, tmp_path, offline):
    hub.save_pretrained(model, tmp_path / "mine")
    names = {path.name for path in (tmp_path / "mine").iterdir()}
    assert {"state.json", "config.json", "README.md"} < names
    assert "test-time-adaptation" in (tmp_path / "mine" / "README.md").read_text()
    other = hub.from_pretrained(tmp_path / "mine", seeded_net())
    assert frozen_state(other) == frozen_state(model)
    x = torch.rand(8, 3, 8, 8, generator=torch.Generator().manual_seed(1))
    assert torch.equal(other(x), model(x))
    assert isinstance(gotta.load(tmp_path / "mine", seeded_net()), gotta.Adapted), "it is what save() writes"


def test_another_network_and_what_is_not_there_are_one_error(model, tmp_path, offline):
    hub.save_pretrained(model, tmp_path / "mine")
    with pytest.raises(GottaError, match="another network"):
        hub.from_pretrained(tmp_path / "mine", seeded_net(classes=7))
    with pytest.raises(GottaError, match="'no/such' cannot be had from the hub"):
        hub.from_pretrained("no/such", seeded_net())


def test_without_the_library_there_is_a_way_out(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(GottaError, match=r"pip install 'gotta-tta\[hub\]'"):
        hub.save_pretrained(model, tmp_path)
