"""Networks of timm and torchvision by name: their own preprocessing, local weights, and clear words without them."""

import subprocess
import sys
from copy import deepcopy
from importlib.util import find_spec

import pytest
import torch
from scrambled import scramble

import gotta
from gotta.errors import GottaError
from gotta.models import PREPROCESSING, Input, foreign, load

pytestmark = pytest.mark.thorough


@pytest.fixture(params=["timm", "torchvision"])
def library(request):
    if find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return request.param


@pytest.fixture
def timm():
    if find_spec("timm") is None:
        pytest.skip("timm is not installed")


@pytest.fixture
def torchvision():
    if find_spec("torchvision") is None:
        pytest.skip("torchvision is not installed")


def test_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchvision", None)
    for name in ("torchvision:resnet50", "timm:resnet18"):
        with pytest.raises(GottaError, match=r"need it installed .* pip install gotta-tta\[(timm|torchvision)\]"):
            load(name, "random")


def test_nothing_is_imported_before_it_is_asked_for():
    code = (
        "import sys, gotta.models as m; m.architectures.names(); assert not {'timm', 'torchvision'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_preprocessing_is_the_records(timm, torchvision):
    half, usual = Input(224, *PREPROCESSING["half"]), Input(224, *PREPROCESSING["imagenet"])
    assert load("timm:vit_tiny_patch16_224", "random").input == half
    assert load("timm:deit_tiny_patch16_224", "random").input == usual
    assert load("timm:resnet10t", "random").input.size == 176
    assert load("torchvision:mobilenet_v3_small", "random").input == usual
    assert load("torchvision:mobilenet_v3_small", "random").num_classes == 1000


def test_local_weights_and_classes(tmp_path, library):
    name = f"{library}:resnet18"
    model = scramble(load(name, "random", num_classes=7))
    torch.save({"state_dict": {f"module.{k}": v for k, v in model.model.state_dict().items()}}, tmp_path / "w.pth")
    found, x = load(name, tmp_path / "w.pth"), torch.rand(1, 3, 64, 64)
    assert found.num_classes == 7
    with torch.inference_mode():
        assert torch.equal(found(x), model(x))
        assert torch.equal(load("resnet18", tmp_path / "w.pth", num_classes=7).eval()(x), model(x))
    with pytest.raises(GottaError, match="does not fit 'resnet50'"):
        load("resnet50", tmp_path / "w.pth")


def test_without_weights_nothing_is_fetched(library):
    with pytest.raises(GottaError, match="comes without weights"):
        load(f"{library}:resnet18")


def test_unknown_name(library):
    with pytest.raises(GottaError, match=rf"{library}'s model 'resnet5' is unknown. Did you mean .*resnet5"):
        load(f"{library}:resnet5", "random")


def test_torchvision_model_that_does_not_classify(torchvision):
    with pytest.raises(GottaError, match="does not classify images"):
        load("torchvision:fcn_resnet50", "random")


def test_network_without_a_linear_end(torchvision):
    model, x = load("torchvision:squeezenet1_1", "random"), torch.rand(1, 3, 64, 64)
    assert model(x).shape == (1, 1000)
    with pytest.raises(GottaError, match="no features"):
        model.features(x)


def test_sar_leaves_the_top_alone_and_the_given_model(timm):
    model = load("timm:vit_tiny_patch16_224", "random", num_classes=10)
    copy = deepcopy(model)
    adapted = gotta.adapt(model, "sar", num_classes=10)
    assert {name.partition(".norm")[0] for name in adapted.method.trained} == {f"model.blocks.{i}" for i in range(9)}
    assert all(torch.equal(value, copy.state_dict()[key]) for key, value in model.state_dict().items())


def test_shim_is_used_only_where_the_library_does_not_load(torchvision):
    foreign._import_torchvision()
    held = len(foreign._shims)
    foreign._import_torchvision()
    assert len(foreign._shims) == held
