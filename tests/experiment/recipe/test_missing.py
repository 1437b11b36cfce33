from gotta.experiment.recipe import missing as module
from gotta.experiment.recipe.missing import missing
from gotta.experiment.spec.run_spec import RunSpec


def specs(*changes):
    return [RunSpec.of({"stream": {"per_class": 1, "domains": ["snow"]}, **change}) for change in changes]


def test_weights_are_told_with_the_data(monkeypatch, tmp_path):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    model = {"name": "wrn28-10", "weights": "Standard.pt"}
    found = missing(specs({"data": {"name": "cifar10"}, "model": model}, {"model": {**model, "weights": "/no/S.pt"}}))
    assert len(found) == 3
    assert "Standard.pt" in found[1].what
    assert "no weights at /no/S.pt" in found[2].what


def test_nothing_is_missing_for_bundled_images():
    assert missing(specs({}, {"seed": 1})) == []


def test_everything_missing_is_listed_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    found = missing(specs({"data": {"name": "cifar10"}}, {"model": {"name": "nowhere.safetensors"}}, {}, {"seed": 1}))
    assert len(found) == 2
    assert "cifar-10-python.tar.gz" in found[0].what
    assert "nowhere.safetensors" in found[1].what


def test_what_does_not_go_together_is_told_once(monkeypatch):
    class Other:
        num_classes = 7

    monkeypatch.setattr(module.loaded, "model_of", lambda spec: Other())
    (found,) = missing(specs({}, {"seed": 1}))
    assert "7 classes" in found.what


def test_domains_that_are_not_there():
    (found,) = missing(specs({"stream": {"domains": ["snwo"]}}))
    assert "snwo" in found.what


def test_each_thing_comes_with_the_command_that_gets_it(monkeypatch, tmp_path):
    monkeypatch.delenv("GOTTA_DATA", raising=False)
    wrn = {"name": "wrn28-10", "weights": "Standard.pt"}
    resnet = {"name": "resnet50", "weights": "resnet50-0676ba61.pth"}
    data = ({"name": "cifar10_c"}, {"name": "cifar10"}, {"name": "folder", "path": "Mine"})
    found = [one.command for one in missing(specs(*({"data": d, "model": wrn} for d in data), {"model": resnet}))]
    assert found[:3] == [
        "gotta data download cifar10-c --unpack  # 2.9 GB",
        "gotta data download cifar10  # 170 MB",
        "",
    ]
    assert "robustbench" in found[3]
    assert found[4] == "gotta data download resnet50-imagenet  # 103 MB"
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    assert (
        missing(specs({"data": {"name": "cifar10_c"}}))[0].command == "gotta data download cifar10-c --unpack  # 2.9 GB"
    )
    assert str(tmp_path) in missing(specs({"model": wrn}))[0].command


def test_clean_samples_are_named_with_all_else_that_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    eata = {"method": {"name": "eata", "fisher": {}}, "data": {"name": "cifar10_c"}}
    found = [str(one) for one in missing(specs({**eata, "model": {"name": "wrn28-10", "weights": "Standard.pt"}}))]
    assert len(found) == 3
    assert all(any(word in one for one in found) for word in ("cifar10_c", "Standard.pt", "clean samples"))
