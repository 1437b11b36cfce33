"""Published weights, from snapshots made here of networks with random configurations: nothing is fetched."""

import json
from hashlib import sha256

import pytest
import torch

from gotta import GottaError
from gotta.experiment.run.loaded import weights_used
from gotta.experiment.spec.run_spec import RunSpec
from gotta.models import load
from gotta.models.foreign import import_library
from gotta.models.pretrained import is_pretrained

pytestmark = pytest.mark.filterwarnings("ignore")  # those of other libraries


def imported(name):
    """A library, also where its torchvision does not fit torch."""
    try:
        return import_library(name)
    except GottaError as error:
        pytest.skip(str(error))


@pytest.fixture
def snapshot(tmp_path):
    transformers = imported("transformers")
    torch.manual_seed(0)
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=5
    )
    net = transformers.ResNetForImageClassification(config).eval()
    net.save_pretrained(tmp_path / "net")
    record = {
        "size": {"shortest_edge": 40},
        "crop_size": {"height": 32, "width": 32},
        "image_mean": [0.5] * 3,
        "image_std": [0.25] * 3,
    }
    (tmp_path / "net" / "preprocessor_config.json").write_text(json.dumps(record))
    return net, tmp_path / "net"


def test_a_snapshot_of_hugging_face_is_a_network(snapshot):
    net, folder = snapshot
    model = load(f"hf:{folder}", "pretrained")
    assert (model.num_classes, model.input.size, model.input.mean) == (5, 32, (0.5, 0.5, 0.5))
    x = torch.rand(4, 3, 32, 32)
    with torch.no_grad():
        assert torch.equal(model(x), net(pixel_values=(x - 0.5) / 0.25).logits)
        assert torch.allclose(model.get_submodule(model.classifier)(model.features(x)), model(x), atol=1e-6)


def test_it_is_adapted_and_run_as_any_other(snapshot):
    import gotta

    _, folder = snapshot
    adapted = gotta.adapt(load(f"hf:{folder}", "pretrained"), "tent", statistics="batch")
    before = adapted.model.state_dict()["model.net.resnet.embedder.embedder.normalization.weight"].clone()
    adapted(torch.rand(8, 3, 32, 32))
    assert not torch.equal(
        adapted.model.state_dict()["model.net.resnet.embedder.embedder.normalization.weight"], before
    )


def test_a_snapshot_of_timm_is_a_network(tmp_path):
    timm = imported("timm")
    safetensors = pytest.importorskip("safetensors.torch")
    torch.manual_seed(0)
    net = timm.create_model("resnet10t", num_classes=7).eval()
    config = {"architecture": "resnet10t", "num_classes": 7, "pretrained_cfg": {**net.pretrained_cfg, "num_classes": 7}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    safetensors.save_file(net.state_dict(), tmp_path / "model.safetensors")
    model = load(f"timm:{tmp_path}", "pretrained")
    assert model.num_classes == 7
    x = torch.rand(2, 3, 64, 64)
    mean, std = (torch.tensor(net.pretrained_cfg[name]).view(1, 3, 1, 1) for name in ("mean", "std"))
    with torch.no_grad():
        assert torch.allclose(model(x), net((x - mean) / std), atol=1e-5)


def test_the_revision_stands_in_the_spec():
    one, two = (
        RunSpec.of({"model": {"name": "hf:microsoft/resnet-50", "weights": f"pretrained@{revision}"}})
        for revision in "ab"
    )
    assert one.model.weights == "pretrained@a"
    assert one.id != two.id


def test_what_cannot_be_repeated_or_had_is_refused(tmp_path):
    with pytest.raises(GottaError, match="Name a revision"):
        load("hf:microsoft/resnet-50", "pretrained")
    with pytest.raises(GottaError, match=r"there is no folder '\./nowhere'\. Expected a snapshot"):
        load("hf:./nowhere", "pretrained")
    with pytest.raises(GottaError, match="are for networks of timm: and hf:"):
        load("resnet20", "pretrained@main")
    with pytest.raises(GottaError, match="weights=pretrained@REVISION"):
        load("hf:microsoft/resnet-50", "random")
    assert not is_pretrained("pretrained.pt")


def test_a_run_notes_the_weights_of_a_snapshot(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    for name, used in ((f"hf:{tmp_path}", {"weights_sha256": sha256(b"weights").hexdigest()}), ("hf:microsoft/x", {})):
        assert weights_used(RunSpec.of({"model": {"name": name, "weights": "pretrained@a"}})) == used


def test_weights_that_are_not_there_are_one_message(tmp_path, monkeypatch):
    imported("transformers")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    with pytest.raises(GottaError, match="cannot be had"):
        load(f"hf:{tmp_path / 'empty'}", "pretrained")
