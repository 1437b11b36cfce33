import pytest

from gotta import GottaError
from gotta.experiment.spec.text import read_settings, read_spec


def test_settings_stand_over_the_file(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text("model: {name: a, weights: w}\nmethod: {name: tent, lr: 1}\nseed: 1")
    given = [str(path), "seed=2", "method.lr=3", "model.name=b"]
    assert read_settings(given) == {
        "model": {"name": "b"},
        "method": {"name": "tent", "lr": 3},
        "seed": 2,
    }
    assert read_settings([]) == {}


@pytest.mark.parametrize(("text", "words"), [("- 1", "got list"), ("a: [", "not YAML")])
def test_a_file_that_is_no_spec(tmp_path, text, words):
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(GottaError, match=words):
        read_spec(path)
    with pytest.raises(GottaError, match="neither a spec file nor a setting"):
        read_settings(["nowhere"])
