"""The networks of the paper's tables, untrained, from a checkpoint file through adaptation on a handful of images."""

import warnings

import pytest
import torch

import gotta
from gotta.models import load
from gotta.statistics.normalization import AFFINE_LAYERS

CLASSES = {"wrn28-10": 10, "resnet50": 1000, "vit-b16": 1000}


@pytest.fixture(scope="module", params=CLASSES)
def network(request, tmp_path_factory):
    """Read from a file as RobustBench nests it."""
    path = tmp_path_factory.mktemp("weights") / "Standard.pt"
    torch.save({"state_dict": load(request.param, "random", CLASSES[request.param]).state_dict()}, path)
    model = load(request.param, path)
    model.name = request.param
    return model


def images(network, count, seed=0):
    side = network.input.size
    return torch.rand(count, 3, side, side, generator=torch.Generator().manual_seed(seed))


def affine_names(network):
    layers = [name for name, layer in network.named_modules() if isinstance(layer, AFFINE_LAYERS)]
    return {f"{name}.{part}" for name in layers for part in ("weight", "bias")}


MEMORY = {"memory": "fps", "capacity": 4, "adapt_every": 4}


def adapted(network, method, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a memory smaller than the number of classes
        return gotta.adapt(network, method, num_classes=network.num_classes, **arguments)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "arguments"),
    [("norm", {}), ("tent", MEMORY), ("rotta", MEMORY)],
)
def test_only_what_is_announced_moves(network, method, arguments):
    if method == "norm" and network.name == "vit-b16":
        pytest.skip("a transformer has no BatchNorm")
    model = adapted(network, method, **arguments)
    before = {name: value.clone() for name, value in model.model.state_dict().items()}
    for step in range(2):
        logits = model(images(network, 4, step))
        assert logits.shape == (4, network.num_classes)
        assert torch.isfinite(logits).all()
    after = model.model.state_dict()
    assert all(torch.isfinite(value).all() for value in after.values())
    parameters = {name for name, _ in model.model.named_parameters()}
    moved = {name for name in parameters if not torch.equal(before[name], after[name])}
    assert set(model.method.trained) == (set() if method == "norm" else affine_names(network))
    assert moved <= set(model.method.trained)
    assert bool(moved) == (method != "norm")


@pytest.mark.slow
def test_sar_leaves_the_top_alone(network):
    trained = set(adapted(network, "sar").method.trained)
    top = {
        "wrn28-10": (),
        "resnet50": ("layer4.",),
        "vit-b16": ("blocks.9.", "blocks.10.", "blocks.11.", "norm."),
    }[network.name]
    skipped = affine_names(network) - trained
    assert skipped == {name for name in affine_names(network) if name.startswith(top)}
    assert len(skipped) == {"wrn28-10": 0, "resnet50": 20, "vit-b16": 14}[network.name]
