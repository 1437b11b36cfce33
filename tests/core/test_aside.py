"""Streams that make room are put aside, and go on from there."""

import copy
import shutil
from unittest.mock import Mock

import pytest
import torch
from tiny import seeded_net
from whole_state import frozen_state, plain

import gotta
from gotta.core import between_steps
from gotta.core.streams import place, state_of_stream
from gotta.errors import GottaError

pytestmark = pytest.mark.filterwarnings("ignore::gotta.priors.OrderWarning")
RUNNING = {"method": "norm", "statistics": "running", "fed_by": "batch"}  # of which each answer depends on those before
SETTINGS = [
    {"method": "deskew"},
    {"method": "norm", "memory": "fps", "capacity": 8, "adapt_every": 4},
    RUNNING,
    {"method": "t3a"},
]


def batches(steps, seed=0):
    return torch.rand(steps, 4, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def few(folder, **settings):
    """A model that holds two streams."""
    return gotta.adapt(seeded_net(), **(settings or RUNNING), streams=2, aside=folder)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: "-".join(map(str, settings.values())))
def test_a_stream_that_was_put_aside_goes_on_bit_for_bit(tmp_path, settings):
    small, large = few(tmp_path, **settings), gotta.adapt(seeded_net(), **settings)
    for turn, x in enumerate(batches(18)):
        name = f"camera {turn % 3}"
        assert torch.equal(small(x, stream=name), large(x, stream=name))
    assert (len(small.streams), len(large.streams)) == (2, 3)
    for name, held in small.held_streams.items():
        assert plain(state_of_stream(held)) == plain(state_of_stream(large.held_streams[name]))


def test_another_process_goes_on_from_the_folder(tmp_path):
    before, other = few(str(tmp_path)), gotta.adapt(seeded_net(), **RUNNING)
    given = batches(8)
    for turn, x in enumerate(given[:6]):
        before(x, stream=turn % 3)
        other(x, stream=turn % 3)
    assert 0 not in before.streams
    later = few(str(tmp_path))
    assert torch.equal(later(given[6], stream=0), other(given[6], stream=0))
    assert not torch.equal(later(given[7], stream="0"), other(given[7], stream=0))  # an integer is not its text


def test_a_stream_that_is_forgotten_begins_anew(tmp_path):
    model, x = few(tmp_path), batches(5)
    for name, part in zip("abcd", x, strict=False):
        model(part, stream=name)
    assert len(list(tmp_path.iterdir())) == 2
    assert model.forget("a")
    assert not model.forget("a")
    new = gotta.adapt(seeded_net(), **RUNNING)
    assert torch.equal(model(x[4], stream="a"), new(x[4], stream="a"))
    model.reset()
    assert list(tmp_path.iterdir()) == []
    assert torch.equal(model(x[4], stream="b"), new(x[4], stream="b"))


@pytest.mark.parametrize("call", ["forget", "reset"])
def test_an_interrupt_while_streams_are_dropped_leaves_no_half_of_one(tmp_path, monkeypatch, call):
    model, x = few(tmp_path), batches(5)
    for name, part in zip("abcd", x, strict=False):
        model(part, stream=name)

    def cut(path, **given):  # after the first file
        next(path.iterdir()).unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", cut)
    with pytest.raises(KeyboardInterrupt):
        model.forget("a") if call == "forget" else model.reset()
    monkeypatch.undo()
    new = gotta.adapt(seeded_net(), **RUNNING)
    for name in "a" if call == "forget" else "ab":
        assert torch.equal(model(x[4], stream=name), new(x[4], stream=name))
    model.reset()
    assert list(tmp_path.iterdir()) == []


def test_a_reset_that_is_cut_off_before_streams_are_dropped_is_finished_by_the_next_call(tmp_path, monkeypatch):
    model, x = few(tmp_path), batches(5)
    for name, part in zip("abcd", x, strict=False):
        model(part, stream=name)
    monkeypatch.setattr(between_steps, "drop_aside", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        model.reset()
    new = gotta.adapt(seeded_net(), **RUNNING)
    assert torch.equal(model(x[4], stream="a"), new(x[4], stream="a"))
    assert torch.equal(model(x[4], stream="b"), new(x[4], stream="b"))


def test_a_folder_that_a_kill_left_without_a_state_is_a_new_stream(tmp_path):
    model, x = few(tmp_path), batches(2)
    model(x[0], stream="a")
    place(model, "b").mkdir()
    assert torch.equal(model(x[1], stream="b"), gotta.adapt(seeded_net(), **RUNNING)(x[1], stream="b"))


def test_a_folder_of_another_network_is_refused_and_nothing_is_lost(tmp_path):
    model, x = few(tmp_path), batches(4)
    for name, part in zip("abc", x, strict=False):
        model(part, stream=name)
    net = seeded_net()
    with torch.no_grad():
        next(net.parameters()).add_(1)
    other = gotta.adapt(net, **RUNNING, aside=tmp_path)
    other(x[0], stream="z")
    before = frozen_state(other)
    with pytest.raises(GottaError, match="network"):
        other(x[3], stream="a")
    assert frozen_state(other) == before
    assert model(x[3], stream="a").isfinite().all()


def test_a_step_that_fails_loses_no_stream(tmp_path):
    model, x = few(tmp_path), batches(4)
    model(x[0], stream="a")
    model(x[1], stream="b")
    before = frozen_state(model)

    def fail(*given):
        raise RuntimeError("broken")

    handle = model.model.register_forward_hook(fail)
    with pytest.raises(GottaError, match="broken"):
        model(x[2], stream="c")
    handle.remove()
    assert frozen_state(model) == before


def test_a_copy_has_no_folder_and_a_bad_one_is_refused(tmp_path):
    model = few(tmp_path)
    copied = copy.deepcopy(model)
    for name, x in zip("abc", batches(3), strict=True):
        copied(x, stream=name)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(GottaError, match="aside must be a folder"):
        few(5)
