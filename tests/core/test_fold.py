"""A folded model is a plain network that predicts as the adapted one does now."""

import io
import warnings

import numpy as np
import pytest
import torch
from tiny import TinyNet, seeded_net, seeded_transformer
from torch import nn

import gotta
from gotta import GottaError
from gotta.data import dataset
from gotta.models import load
from gotta.types import torch_images

KINDS = {
    "deskew": {},
    "gated": {"method": "norm", "statistics": "gated"},
    "moments": {"statistics": "moments", "memory": "fps", "capacity": 8},
    "tent": {"method": "tent", "statistics": "source"},
    "running": {"method": "tent", "statistics": "running", "fed_by": "batch"},
    "norm": {"method": "norm", "memory": "fps", "capacity": 8, "pairing": "memory"},
    "rotta": {"method": "rotta", "memory": "fps", "capacity": 8},
    "source": {"method": "source"},
    "sar": {"method": "sar"},
}


def images(seed=0, count=16, shift=0.0):
    return torch.rand(count, 3, 8, 8, generator=torch.Generator().manual_seed(seed)) * (1 + 3 * shift) + shift


def moved(settings, net=None):
    """A model that has seen something quite different from what its network was made for."""
    model = gotta.adapt(seeded_net() if net is None else net, seed=1, **settings)
    for seed in range(12):
        model(images(seed, shift=1.0))
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_it_predicts_as_the_adapted_model_does_now(kind):
    model = moved(KINDS[kind])
    folded, x = model.fold(), images(50, shift=1.0)
    with torch.no_grad():
        given = folded(x)
    assert type(folded) is TinyNet
    assert {type(layer) for layer in folded.modules()} == {type(layer) for layer in seeded_net().modules()}
    assert folded.state_dict().keys() == seeded_net().state_dict().keys()
    model.freeze()
    torch.testing.assert_close(given, model.step(x).prediction.raw.logits, rtol=1e-5, atol=1e-6)
    if kind in ("tent", "running", "norm", "rotta"):
        assert (given - seeded_net()(x)).abs().max() > 1e-3  # it is not the source
    model.unfreeze()
    for seed in range(3):
        model(images(seed, shift=2.0))
    with torch.no_grad():
        assert torch.equal(folded(x), given)  # and is a copy


@pytest.mark.parametrize("kind", ["deskew", "gated"])
def test_levels_of_a_found_domain_are_folded_in(kind):
    data, net = dataset("cifar10-mini"), load("resnet20")
    rows = np.random.default_rng(0).permutation(len(data.labels))[:256]
    x = torch_images(data.images("gaussian_noise-5", rows))
    model = gotta.adapt(net, **KINDS[kind])
    for part in x.split(64):
        model(part)
    assert model.method.measure_stream()["away"]
    folded = model.fold()
    model.freeze()
    with torch.no_grad():
        given = folded(x[:64])
        assert (given - net(x[:64])).abs().max() > 1
    torch.testing.assert_close(given, model.step(x[:64]).prediction.raw.logits, rtol=1e-4, atol=1e-4)


def test_a_network_without_batch_norm():
    model = moved({"method": "tent"}, seeded_transformer())
    with torch.no_grad():
        given = model.fold()(images(50))
    model.freeze()
    torch.testing.assert_close(given, model(images(50)))


@pytest.mark.parametrize(
    "settings", [{"method": "norm", "pairing": "paper"}, {"method": "lame"}, {"method": "t3a"}, {"method": "note"}]
)
def test_what_is_no_fixed_network_is_refused(settings):
    model = gotta.adapt(seeded_net(), **settings)
    model(images())
    with pytest.raises(GottaError, match=r"normalised by the batch|need more than one network"):
        model.fold()


def test_an_adapted_model_is_not_exported_itself():
    with pytest.raises(Exception, match=r"Export model\.fold\(\)"):
        torch.export.export(gotta.adapt(seeded_net()), (images(),))


@pytest.mark.parametrize("kind", ["deskew", "rotta", "tent"])
def test_torch_export(kind):
    model = moved(KINDS[kind])
    folded, x = model.fold(), images(50, shift=1.0)
    batch = torch.export.Dim("batch", min=2, max=1024)
    exported = torch.export.export(folded, (x,), dynamic_shapes=({0: batch},))
    with torch.no_grad():
        for count in (3, 16):
            torch.testing.assert_close(exported.module()(x[:count]), folded(x[:count]))


def test_onnx_gives_the_same_logits():
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    for kind in ("deskew", "rotta"):
        folded, x, file = moved(KINDS[kind]).fold(), images(50, shift=1.0), io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(folded, (x,), input_names=["x"], dynamo=True, verbose=False)
            program.save(file)
        session = ort.InferenceSession(file.getvalue(), providers=["CPUExecutionProvider"])
        given = torch.from_numpy(session.run(None, {"x": x.numpy()})[0])
        with torch.no_grad():
            torch.testing.assert_close(given, folded(x), rtol=1e-4, atol=1e-5)


def test_a_compiled_network_is_folded_plain():
    model = gotta.adapt(torch.compile(seeded_net(), backend="eager"), "source")
    assert type(model.fold()) is TinyNet


def test_group_norm_has_no_hooks_left():
    model = moved({"method": "tent"}, seeded_net(lambda channels: nn.GroupNorm(4, channels)))
    assert not any(layer._forward_pre_hooks for layer in model.fold().modules())
    torch.export.export(model.fold(), (images(),))
