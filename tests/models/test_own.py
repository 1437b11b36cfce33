import subprocess
import sys

import pytest
import torch
from torch import nn

from gotta import GottaError
from gotta.models import load
from gotta.models.own import check, is_own

MINE = """
import random
from torch import nn

loaded = True


class Flat(nn.Module):
    def __init__(self, num_classes=7):
        super().__init__()
        self.conv, self.last = nn.Conv2d(3, 4, 3), nn.Linear(4 * 30 * 30, num_classes)

    def forward(self, x):
        x = self.conv(x)
        return self.last(x.view(len(x), -1))


def build():
    return Flat(10)


def asked(num_classes):
    return Flat(num_classes)


def mute():
    return nn.Sequential(nn.Conv2d(3, 6, 32), nn.Flatten())


net = Flat(3)
number = 3
"""


@pytest.fixture(autouse=True)
def mine(tmp_path, monkeypatch):
    (tmp_path / "own_net.py").write_text(MINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path / "own_net.py"
    sys.modules.pop("own_net", None)


@pytest.mark.parametrize(
    ("name", "told", "classes"),
    [("build", None, 10), ("asked", 5, 5), ("Flat", None, 7), ("Flat", 4, 4), ("net", 10, 3), ("mute", 6, 6)],
)
def test_a_function_a_class_or_a_network_of_ones_own(name, told, classes):
    model = load(f"own_net:{name}", num_classes=told)
    assert model.num_classes == classes
    assert not model.training
    assert model(torch.rand(2, 3, 32, 32)).shape == (2, classes)


def test_weights_are_the_same_each_time_and_may_come_from_a_file(tmp_path):
    before = torch.random.get_rng_state()
    first, second = load("own_net:build"), load("own_net:build")
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(first.model.last.weight, second.model.last.weight)
    torch.save({name: value + 1 for name, value in first.model.state_dict().items()}, tmp_path / "w.pt")
    filled = load("own_net:build", weights=tmp_path / "w.pt")
    assert torch.equal(filled.model.last.weight, first.model.last.weight + 1)


def test_images_are_normalised_where_preprocessing_is_named():
    x = torch.rand(2, 3, 32, 32)
    plain, named = load("own_net:build"), load("own_net:build", preprocessing="half")
    assert torch.allclose(named(x), plain((x - 0.5) / 0.5), atol=1e-5)


def test_its_features_are_what_goes_into_the_last_layer():
    assert load("own_net:build").features(torch.rand(2, 3, 32, 32)).shape == (2, 4 * 30 * 30)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere:build", "ModuleNotFoundError"),
        ("own_net:", "Expected module:function"),
        ("own_net:no thing", "Expected module:function"),
        ("own_net:absent", "AttributeError"),
        ("own_net:number", "TypeError"),
        ("own_net:asked", "TypeError"),
        ("own_net:mute", "does not tell its number of classes"),
    ],
)
def test_a_mistake_is_one_message(name, words):
    with pytest.raises(GottaError, match=words):
        load(name)


def test_a_class_that_is_no_network_is_not_even_called(monkeypatch):
    def called(*arguments, **more):
        raise AssertionError

    monkeypatch.setattr(subprocess.Popen, "__init__", called)
    with pytest.raises(GottaError, match=r"it is .*Popen"):
        load("subprocess:Popen")


def test_names_of_other_libraries_are_theirs():
    assert is_own("mine:build")
    assert not is_own("timm:resnet50")
    assert not is_own("resnet20")
    with pytest.raises(GottaError, match="Expected module:function"):
        check("a b:build")
    assert isinstance(load("own_net:build").model, nn.Module)
