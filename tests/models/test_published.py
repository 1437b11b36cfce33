"""Architectures against what is published of them: parameter counts, key names with shapes, and independent outputs."""

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from reference.slow_wrn import wide_resnet
from scrambled import scramble

from gotta.models import PREPROCESSING, Input, architectures, foreign
from gotta.models.zoo import parameters

KEYS = Path(__file__).parent / "keys"
PUBLISHED = {
    "resnet18": 11_689_512,
    "resnet26": 15_995_176,
    "resnet50": 25_557_032,
    "vit-ti16": 5_717_416,
    "vit-s16": 22_050_664,
    "vit-b16": 86_567_656,
    "wrn28-10": 36_479_194,
    "wrn40-2": 2_243_546,
}
CIFAR = {"resnet20": 269_722, "resnet32": 464_154, "resnet44": 658_586, "resnet56": 853_018, "resnet110": 1_727_962}
TWINS = {
    "resnet18": "torchvision:resnet18",
    "resnet50": "torchvision:resnet50",
    "resnet26": "timm:resnet26",
    "vit-ti16": "timm:vit_tiny_patch16_224",
    "vit-s16": "timm:vit_small_patch16_224",
    "vit-b16": "timm:vit_base_patch16_224",
}


def images(count, side):
    return torch.rand(count, 3, side, side, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize(("name", "count"), (PUBLISHED | CIFAR).items())
def test_parameter_count(name, count):
    assert parameters(name) == count


@pytest.mark.parametrize("name", PUBLISHED)
def test_keys_and_shapes(name):
    with torch.device("meta"):
        state = architectures.build(name).state_dict()
    mine = {f"{key} {'x'.join(map(str, value.shape)) or 'scalar'}" for key, value in state.items()}
    assert mine == set((KEYS / f"{name}.txt").read_text().splitlines())


def test_every_list_is_used():
    assert {path.stem for path in KEYS.glob("*.txt")} == set(PUBLISHED)


@pytest.mark.parametrize(("name", "slow"), [("wrn40-2", wide_resnet), ("wrn28-10", wide_resnet)])
def test_output_of_the_slow_version(name, slow):
    model, x = scramble(architectures.build(name)), images(2, 32)
    with torch.inference_mode():
        expected = slow(model.normalize(x), model.state_dict())
        torch.testing.assert_close(model(x), expected, rtol=1e-3, atol=1e-4)
        assert expected.std() > 0.05, "outputs that hardly differ would prove nothing"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "vit-b16" else ()) for name in TWINS]
)
def test_output_and_preprocessing_of_the_library(name):
    twin = TWINS[name]
    library = twin.partition(":")[0]
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    model, theirs = scramble(architectures.build(name)), foreign.build(twin, None).eval()
    theirs.model.load_state_dict(model.state_dict(), strict=True)
    assert theirs.input == model.input
    x = images(1, 224)
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (model.input.mean, model.input.std))
    with torch.inference_mode():
        expected = theirs.model((x - mean) / std)
        torch.testing.assert_close(model(x), expected, rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(theirs(x), expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(theirs.features(x), model.features(x), rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(theirs.classify(theirs.features(x)), expected, rtol=1e-4, atol=1e-5)
    assert expected.std() > 0.05


def test_usual_preprocessing():
    usual = {name: architectures.build(name).input for name in ("wrn40-2", "resnet18", "vit-ti16")}
    assert usual == {
        "wrn40-2": Input(32, *PREPROCESSING["half"]),
        "resnet18": Input(224, *PREPROCESSING["imagenet"]),
        "vit-ti16": Input(224, *PREPROCESSING["half"]),
    }
    with torch.device("meta"):
        assert architectures.build("wrn28-10").input == Input(32, (0, 0, 0), (1, 1, 1))


@pytest.mark.parametrize(("name", "side"), [("wrn40-2", 64), ("resnet18", 64)])
def test_convolutional_networks_take_other_sides(name, side):
    with torch.inference_mode():
        assert architectures.build(name, num_classes=3).eval()(images(2, side)).shape == (2, 3)


def test_first_published_resnet50_differs_in_stride_and_eps_alone():
    with torch.device("meta"):
        first, usual = architectures.build("resnet50-v1"), architectures.build("resnet50")
    shapes = [{name: value.shape for name, value in net.state_dict().items()} for net in (first, usual)]
    assert shapes[0] == shapes[1]
    moved = {
        name: (layer.stride, usual.get_submodule(name).stride)
        for name, layer in first.named_modules()
        if isinstance(layer, torch.nn.Conv2d) and layer.stride != usual.get_submodule(name).stride
    }
    one, two = (1, 1), (2, 2)
    assert moved == {
        f"layer{stage}.0.conv{n}": (two, one) if n == 1 else (one, two) for stage in (2, 3, 4) for n in (1, 2)
    }
    assert {layer.eps for layer in first.modules() if isinstance(layer, torch.nn.BatchNorm2d)} == {1e-3}
