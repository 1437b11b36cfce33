"""Networks in a spec: weights from the data home, all mistakes before the run, and a run that uses them."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from gotta.errors import GottaError
from gotta.experiment.run.loaded import find_head, find_weights, share_model
from gotta.experiment.run.run import run
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.sections import ModelSpec
from gotta.experiment.spec.user_parts import permit
from gotta.models import load

SHORT = {"domains": ["fog"], "limit": 24}


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("GOTTA_DATA", str(folder))
    return folder


def weights(home, name="Standard.pt", architecture="wrn40-2", classes=10):
    model = load(architecture, "random", classes)
    torch.save({"state_dict": {f"module.{k}": v for k, v in model.state_dict().items()}}, home / name)


def spec(**model):
    return RunSpec.of({"model": model, "regime": {"batch_size": 8}, "stream": SHORT})


def test_the_name_of_a_run_says_nothing_of_weights_that_are_left_open():
    assert "model" not in RunSpec.of({}).identity["settings"]


def test_weights_and_preprocessing_are_part_of_the_name_of_a_run(home):
    weights(home)
    weights(home, "Other.pt")
    ids = {
        spec(name="wrn40-2", weights="Standard.pt").id,
        spec(name="wrn40-2", weights="Other.pt").id,
        spec(name="wrn40-2", weights="random").id,
        spec(name="wrn40-2", weights="random", preprocessing="cifar10").id,
    }
    assert len(ids) == 4
    again = spec(name="wrn40-2", weights="Standard.pt")
    assert RunSpec.of(json.loads(again.model_dump_json())) == again


def test_paths_are_whole_or_in_the_data_home(home, tmp_path):
    (home / "ckpt").mkdir()
    weights(home / "ckpt")
    assert find_weights("ckpt/Standard.pt") == home / "ckpt" / "Standard.pt"
    assert find_weights(str(tmp_path / "w.pt")) == tmp_path / "w.pt"
    assert find_weights("~/w.pt") == Path.home() / "w.pt"
    assert find_weights("random") == "random"
    assert find_weights(None) is None


def test_current_folder_is_not_searched(home, tmp_path, monkeypatch):
    weights(tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GottaError, match=r"the weights file is not in .*data'. Expected there: Standard.pt"):
        run(spec(name="wrn40-2", weights="Standard.pt"))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"name": "wrn28-10"}, "comes without weights"),
        ({"name": "wrn28-11", "weights": "random"}, "Did you mean 'wrn28-10'"),
        ({"name": "wrn28-10", "weights": "random", "preprocessing": "halve"}, "Did you mean 'half'"),
        ({"name": "mine.safetensors", "weights": "random"}, "'mine.safetensors' has weights"),
        ({"name": "resnet20", "wieghts": "random"}, "Did you mean 'model.weights'"),
    ],
)
def test_mistakes_show_before_the_run_together_with_others(home, model, message):
    with pytest.raises(GottaError, match=r"2 mistakes in the spec") as caught:
        RunSpec.of({"model": model, "method": {"name": "tnet"}})
    assert message in str(caught.value)
    assert "Did you mean 'tent'" in str(caught.value)


def test_no_data_home(monkeypatch):
    monkeypatch.delenv("GOTTA_DATA", raising=False)
    made = spec(name="wrn40-2", weights="Standard.pt")  # a spec is good or bad whatever this machine has
    with pytest.raises(GottaError, match="let GOTTA_DATA or --data-dir name another"):
        run(made)


def test_run_with_a_checkpoint_is_the_run_with_its_weights(home):
    weights(home)
    found = [run(spec(name="wrn40-2", weights=named))[1] for named in ("Standard.pt", "random")]
    assert found[0]["online"] == found[1]["online"]


def test_checkpoint_of_other_classes(home):
    weights(home, classes=100)
    with pytest.raises(GottaError, match="tells 100 classes apart and data set 'cifar10-mini' has 10"):
        run(spec(name="wrn40-2", weights="Standard.pt"))


def test_a_path_that_begins_with_a_dot_is_one_from_here(monkeypatch):
    monkeypatch.delenv("GOTTA_DATA", raising=False)
    assert find_weights("./mine.pt") == Path("./mine.pt")
    with pytest.raises(GottaError, match=r"no weights at mine\.pt"):
        share_model(ModelSpec(name="wrn40-2", weights="./mine.pt"), 10)


TOWER = """
from torch import nn

class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 8, 8)

    def forward(self, x):
        return self.conv(x).mean((2, 3))
"""


def test_a_network_that_gives_features_takes_class_embeddings_from_a_file(home, tmp_path, monkeypatch):
    (tmp_path / "tower.py").write_text(TOWER)
    monkeypatch.syspath_prepend(str(tmp_path))
    named = {"name": "tower:Tower", "weights": "random", "head": "text.safetensors", "scale": 30.0}
    permit({"model": named})
    with pytest.raises(GottaError, match=r"the file of class embeddings is not in .*text.safetensors"):
        find_head(named["head"])
    rows = torch.randn(10, 16, generator=torch.Generator().manual_seed(0))
    save_file({"text": rows}, home / "text.safetensors")
    one = spec(**named)
    _, summary = run(one)[:2]
    assert "head_sha256" in str(summary)
    assert one.id != spec(**{**named, "scale": 31.0}).id
    assert spec(**one.model_dump()["model"]) == one


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"head": "text.txt"}, "is not a head"),
        ({"scale": 2.0}, "there is none"),
        ({"head": "classifier", "scale": -1.0}, "0"),
    ],
)
def test_a_head_that_makes_no_sense_is_told_before_anything_is_read(named, words):
    with pytest.raises(GottaError, match=words):
        spec(name="vit-mini", **named)
