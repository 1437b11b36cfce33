"""Every method on trained networks without BatchNorm, on real corrupted images: nothing breaks or collapses."""

import numpy as np
import pytest
import torch

import gotta
from gotta.data import dataset
from gotta.errors import GottaError, NoEffect
from gotta.methods import methods
from gotta.models import load
from gotta.types import torch_images

BATCHES, SIZE = 3, 16
QUICK = ("tent", "norm", "source")


@pytest.fixture(scope="module")
def stream():
    data = dataset("cifar10-mini")
    rows = np.random.default_rng(0).permutation(len(data.labels))[: BATCHES * SIZE]
    return torch_images(data.images("brightness-3", rows)).split(SIZE), torch.from_numpy(data.labels[rows])


def accuracy(model, stream):
    batches, labels = stream
    logits = torch.cat([model(x) for x in batches])
    assert logits.isfinite().all()
    return 100 * float((logits.argmax(1) == labels).double().mean())


@pytest.mark.parametrize("memory", ["none", "fps"])
@pytest.mark.parametrize(
    "method", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in methods.names()]
)
@pytest.mark.parametrize("network", ["resnet20-gn", "vit-mini"])
def test_a_method_keeps_what_the_source_knew(network, method, memory, stream):
    net = load(network)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    given = {} if memory == "none" or not methods.get(method).uses_memory else {"memory": memory, "capacity": SIZE}
    if method == "foa" and network != "vit-mini":
        with pytest.raises(GottaError, match="vision transformer"):
            gotta.adapt(net, method=method, num_classes=10, **given)
        return
    if method == "norm":
        with pytest.raises(NoEffect, match="BatchNorm layers, and this model has none"):
            gotta.adapt(net, method=method, num_classes=10, **given)
        return
    with torch.no_grad():
        source = accuracy(net, stream)
    model = gotta.adapt(net, method=method, num_classes=10, **given)
    adapted = accuracy(model, stream)
    assert adapted >= source - 15
    if methods.get(method).uses_memory and method not in ("lame", "t3a", "cache", "foa"):  # which train nothing
        assert len(model.method.trained) > 0
    model.reset()
    for name, value in net.state_dict().items():
        assert torch.equal(value, before[name])
