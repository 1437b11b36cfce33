"""Checkpoints as they come: every nesting and prefix gives the same network, and a bad file is one clear line."""

import argparse
import os
import pickle
from collections import OrderedDict

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from scrambled import scramble

from gotta.errors import GottaError
from gotta.models import PREPROCESSING, Input, architectures, load
from gotta.models.zoo import save_model

NAME = "wrn40-2"
MU, SIGMA = torch.full((1, 3, 1, 1), 0.25), torch.tensor([0.1, 0.2, 0.3]).view(1, 3, 1, 1)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return scramble(architectures.build(NAME))


@pytest.fixture(scope="module")
def images():
    return torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))


def prefixed(state, prefix):
    return OrderedDict((prefix + key, value) for key, value in state.items())


def same(one, other):
    return all(torch.equal(value, other.state_dict()[key]) for key, value in one.state_dict().items())


WRAPPINGS = {
    "plain": lambda s: s,
    "RobustBench": lambda s: {"state_dict": s},
    "data parallel": lambda s: {"state_dict": prefixed(s, "module.")},
    "AugMix": lambda s: {
        "epoch": 99,
        "dataset": "cifar10",
        "model": "wrn",
        "state_dict": {f"module.{k.replace('convShortcut', 'conv_shortcut')}": v for k, v in s.items()},
        "best_acc": 0.95,
        "optimizer": {"state": {}, "param_groups": [{"lr": 0.1, "params": [0]}]},
    },
    "TTT": lambda s: {"err_cls": 0.08, "net": s, "head": {"fc.weight": torch.zeros(4, 128)}},
    "model": lambda s: {"model": prefixed(s, "model."), "acc": 91.0},
    "model_state": lambda s: {"model_state": s, "step": torch.tensor(3)},
    "twice": lambda s: {"model": {"state_dict": prefixed(s, "module.model.")}},
    "compiled": lambda s: prefixed(s, "_orig_mod."),
    "old torch": lambda s: {k: v for k, v in s.items() if not k.endswith("num_batches_tracked")},
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("legacy", [False, True])
def test_every_wrapping_gives_the_same_network(tmp_path, model, images, wrapping, legacy):
    path = tmp_path / "Standard.pt"
    torch.save(WRAPPINGS[wrapping](model.state_dict()), path, _use_new_zipfile_serialization=not legacy)
    found = load(NAME, weights=path)
    assert wrapping == "old torch" or same(model, found)
    assert not found.training
    assert found.input == model.input
    assert torch.equal(found(images), model(images))


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".bin", ".safetensors", ".pth.tar"])
def test_every_ending(tmp_path, model, suffix):
    path = tmp_path / f"weights{suffix}"
    (save_file if suffix == ".safetensors" else torch.save)(dict(model.state_dict()), path)
    assert same(model, load(NAME, str(path)))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda s: {**s, "mean": MU, "std": SIGMA},
        lambda s: {"state_dict": {"mu": MU, "sigma": SIGMA, **s}},
        lambda s: prefixed({**s, "mu": MU, "sigma": SIGMA}, "module."),
        lambda s: {"normalize.mean": MU, "normalize.std": SIGMA, **prefixed(s, "model.")},
        lambda s: {"0.mean": MU.flatten(), "0.std": SIGMA.flatten(), **prefixed(s, "1.")},
    ],
)
def test_preprocessing_that_the_file_names_is_used(tmp_path, model, images, wrap):
    torch.save(wrap(model.state_dict()), tmp_path / "w.pt")
    found = load(NAME, tmp_path / "w.pt")
    assert found.input == Input(32, tuple(MU.flatten().tolist()), tuple(SIGMA.flatten().tolist()))
    with torch.inference_mode():
        raw = load(NAME, tmp_path / "w.pt", preprocessing="none")
        torch.testing.assert_close(found(images), raw((images - MU) / SIGMA))


def test_preprocessing_by_name_by_record_and_from_our_own_file(tmp_path, model):
    torch.save(model.state_dict(), tmp_path / "w.pt")
    assert load(NAME, tmp_path / "w.pt", preprocessing="cifar100").input == Input(32, *PREPROCESSING["cifar100"])
    given = Input(32, (0.1, 0.1, 0.1), (0.2, 0.2, 0.2))
    assert load(NAME, tmp_path / "w.pt", preprocessing=given).input == given
    own = load(NAME, tmp_path / "w.pt", preprocessing=given)
    save_model(own, NAME, tmp_path / "own.safetensors")
    assert load(NAME, tmp_path / "own.safetensors").input == given
    with pytest.raises(GottaError, match=r"preprocessing 'imagnet' is unknown. Did you mean 'imagenet'"):
        load(NAME, tmp_path / "w.pt", preprocessing="imagnet")


def test_classes_are_the_files_unless_told(tmp_path):
    model = load(NAME, "random", num_classes=100)
    torch.save({"state_dict": model.state_dict()}, tmp_path / "c100.pt")
    assert load(NAME, tmp_path / "c100.pt").num_classes == 100
    with pytest.raises(GottaError, match=r"2 of another shape \(fc.weight is \[100, 128\], expected \[10, 128\]"):
        load(NAME, tmp_path / "c100.pt", num_classes=10)


def test_random_weights_are_the_seeds_and_leave_the_caller_alone():
    before = torch.random.get_rng_state()
    first, again, other = (load(NAME, "random", seed=seed) for seed in (1, 1, 2))
    assert same(first, again)
    assert not same(first, other)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_architecture_without_weights():
    with pytest.raises(GottaError, match=r"'wrn28-10' comes without weights. Give it weights=FILE .* weights=random"):
        load("wrn28-10")


def test_network_file_and_other_weights(tmp_path):
    with pytest.raises(GottaError, match="has weights, and"):
        load(tmp_path / "mine.safetensors", weights="other.pt")


class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)


class Unknown:
    pass


def html(path):
    path.write_text("\n<!DOCTYPE html><html><head><title>Google Drive - Virus scan warning</title></head></html>")


def empty(path):
    path.touch()


def pointer(path):
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 145\n")


def truncated(path):
    torch.save({"state_dict": load(NAME, "random").state_dict()}, path)
    path.write_bytes(path.read_bytes()[:-5000])


def truncated_legacy(path):
    torch.save(load(NAME, "random").state_dict(), path, _use_new_zipfile_serialization=False)
    path.write_bytes(path.read_bytes()[:-5000])


def code(path):
    torch.save({"state_dict": {}, "evil": Evil()}, path)


def plain_pickle_with_code(path):
    path.write_bytes(pickle.dumps({"a": Evil()}, protocol=2))


def settings(path):
    torch.save({"args": argparse.Namespace(lr=1), "state_dict": load(NAME, "random").state_dict()}, path)


def arrays(path):
    with path.open("wb") as file:
        np.savez(file, a=np.zeros(3))


def noise(path):
    path.write_bytes(np.random.default_rng(0).bytes(3000))


def no_tensors(path):
    torch.save({"epoch": 3, "lr": 0.1}, path)


def a_list(path):
    torch.save([torch.zeros(2)], path)


def one_tensor(path):
    torch.save(torch.zeros(2), path)


def folder(path):
    path.mkdir()


BAD = [
    (html, "is a web page, not the file"),
    (empty, "is empty"),
    (pointer, "is a Git LFS pointer"),
    (truncated, "is damaged or no torch file"),
    (truncated_legacy, "is damaged or no torch file"),
    (code, r"holds more than tensors \((posix|nt)\.system\)"),
    (plain_pickle_with_code, r"holds more than tensors \((posix|nt)\.system\)"),
    (settings, r"holds more than tensors \(argparse\.Namespace\)"),
    (arrays, "is damaged or no torch file"),
    (noise, "is damaged or no torch file"),
    (no_tensors, r"holds no tensors by name \(found: epoch, lr\)"),
    (a_list, r"holds no tensors by name \(found: list\)"),
    (one_tensor, r"holds no tensors by name \(found: Tensor\)"),
    (folder, "no weights at"),
]


@pytest.mark.parametrize(("make", "message"), BAD, ids=[make.__name__ for make, _ in BAD])
def test_bad_file(tmp_path, monkeypatch, make, message):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "Standard.pt")
    with pytest.raises(GottaError, match=message) as caught:
        load(NAME, tmp_path / "Standard.pt")
    assert "\n" not in str(caught.value)
    assert "Standard.pt" in str(caught.value)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("make", [html, pointer, empty])
def test_bad_safetensors(tmp_path, make):
    make(tmp_path / "w.safetensors")
    with pytest.raises(GottaError, match=r"a web page|a Git LFS pointer|is empty"):
        load(NAME, tmp_path / "w.safetensors")


def test_missing_and_unknown_ending(tmp_path):
    with pytest.raises(GottaError, match=r"no weights at .*none\.pt"):
        load(NAME, tmp_path / "none.pt")
    (tmp_path / "w.npz").write_bytes(b"x")
    with pytest.raises(GottaError, match=r"no known ending. Expected one of .pt, .pth"):
        load(NAME, tmp_path / "w.npz")


def test_wrong_architecture_counts_and_names(tmp_path, model):
    torch.save({"state_dict": model.state_dict()}, tmp_path / "w.pt")
    with pytest.raises(GottaError, match="does not fit 'resnet20'") as caught:
        load("resnet20", tmp_path / "w.pt")
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    lacking = [key for key in architectures.build("resnet20").state_dict() if key not in model.state_dict()]
    lacking = [key for key in lacking if not key.endswith("num_batches_tracked")]
    assert f"{len(lacking)} missing ({lacking[0]}, {lacking[1]}, {lacking[2]}, ...)" in message
    assert "not expected (block1.layer.0.bn1.weight" in message
    assert "of another shape (bn1.weight is [128], expected [16]" in message


def test_one_tensor_too_few_and_one_too_many(tmp_path, model):
    state = dict(model.state_dict())
    del state["fc.bias"]
    torch.save({**state, "fc2.bias": torch.zeros(10)}, tmp_path / "w.pt")
    with pytest.raises(GottaError, match=r"'wrn40-2': 1 missing \(fc.bias\); 1 not expected \(fc2.bias\)\."):
        load(NAME, tmp_path / "w.pt")
