import pytest

from gotta import GottaError, list_memories
from gotta.experiment.recipe import load_recipe, merged, recipes


def test_every_recipe_can_be_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    assert "mini" in recipes()
    for name in recipes():
        weights = load_recipe(name).base.get("model", {}).get("weights")
        if weights:
            (tmp_path / weights).touch()  # what is in it is looked at when a run begins
        for quick in (False, True):
            specs = load_recipe(name).runs(quick)
            assert len({spec.id for spec in specs}) == len(specs) > 0


def test_mini_is_what_its_description_says():
    specs = load_recipe("mini").runs()
    cells = {(spec.method.name, spec.control or spec.memory.name) for spec in specs}
    memories = set(list_memories()) - {"composed"}
    assert {memory for method, memory in cells if method == "norm"} == memories | {
        "running_statistics",
        "same_samples",
        "oracle",
    }
    assert {memory for method, memory in cells if method == "tent"} == {"none", "fifo", "fps"}
    assert ("source", "none") in cells
    assert {spec.seed for spec in specs} == {0, 1}
    assert all(spec.stream["per_class"] == 25 and spec.stream["severity"] == 5 for spec in specs)
    assert {spec.stream["per_class"] for spec in load_recipe("mini").runs(quick=True)} == {8}


def test_memories_given_replace_the_wildcard_only():
    specs = load_recipe("mini").runs(memories=["fps"], seeds=[5])
    assert {spec.memory.name for spec in specs if spec.method.name == "norm" and not spec.control} == {"none", "fps"}
    assert {spec.seed for spec in specs} == {5}


def test_a_recipe_of_ones_own(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("title: Mine\nbase: {memory: {capacity: 8}}\nseeds: [3]\ncells: [{method: [tent], memory: [fps]}]")
    (spec,) = load_recipe(str(path)).runs()
    assert (spec.method.name, spec.memory.name, spec.memory.capacity, spec.seed) == ("tent", "fps", 8, 3)


@pytest.mark.parametrize(
    ("text", "words"), [("a: [", "not YAML"), ("title: x", "base"), ("- 1", "no recipe")], ids=["yaml", "field", "list"]
)
def test_a_wrong_file_is_one_error(tmp_path, text, words):
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(GottaError, match=words):
        load_recipe(str(path))


def test_unknown_and_missing():
    with pytest.raises(GottaError, match="Did you mean 'mini'"):
        load_recipe("mni")
    with pytest.raises(GottaError, match="no recipe at"):
        load_recipe("nowhere.yaml")


def test_merging_goes_section_by_section():
    assert merged({"a": {"x": 1, "y": 2}, "b": 1}, {"a": {"y": 3}}) == {"a": {"x": 1, "y": 3}, "b": 1}
