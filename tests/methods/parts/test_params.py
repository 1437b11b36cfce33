"""Which parameters are trained."""

import pytest
import torch
from torch import nn

from gotta.methods.parts.params import near_the_top
from gotta.models.foreign import _import_torchvision
from gotta.statistics.normalization import AFFINE_LAYERS


@pytest.fixture
def timm():
    try:
        _import_torchvision()
        import timm
    except ImportError:
        pytest.skip("timm is not installed")
    return timm


def small(make):
    with torch.device("meta"):
        return make()


def test_the_top_is_found_by_depth_and_not_by_names(timm):
    wanted = {
        "resnet50": {"layer4"},
        "resnet26": {"layer4"},
        "densenet121": {"features.denseblock4", "features.norm5"},
        "vit_tiny_patch16_224": {"blocks.9", "blocks.10", "blocks.11", "norm"},
        "vit_large_patch16_224": {*(f"blocks.{at}" for at in range(18, 24)), "norm"},
        "convnext_tiny": {"stages.3", "head.norm"},
        "efficientnet_b0": {"blocks.6", "bn2"},
    }
    for name, top in wanted.items():
        net = small(lambda name=name: timm.create_model(name))
        spared, layers = near_the_top(net), [n for n, part in net.named_modules() if isinstance(part, AFFINE_LAYERS)]
        expected = {layer for layer in layers if any(f"{layer}.".startswith(f"{place}.") for place in top)}
        assert {layer for layer in layers if spared(layer)} == expected, name
        assert expected


def test_small_networks_have_no_top():
    for norms in (1, 2, 7):
        net = nn.Sequential(*(nn.BatchNorm2d(3) for _ in range(norms)))
        assert not any(near_the_top(net)(name) for name, _ in net.named_modules())
