import subprocess
import sys
from pathlib import Path

import pytest
import torch
from small_recipe import BAD, NET, ONE, RECIPE

import gotta
from gotta import GottaError
from gotta.experiment.recipe.recipe import Recipe, load_recipe
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.text import dump
from gotta.workflow.calls import FailedRuns

SMALL = {"stream.per_class": 1, "stream.domains": ["snow"], "memory.capacity": 8}


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A folder with a policy and a network of one's own."""
    (tmp_path / "own_bad.py").write_text(BAD)
    (tmp_path / "own_nets.py").write_text(NET)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("own_bad", "own_nets"):
        sys.modules.pop(name, None)


def test_a_recipe_by_name_path_content_or_object_is_one_plan(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(dump(ONE))
    plans = [gotta.plan(given, out=tmp_path) for given in (path, str(path), ONE, Recipe.model_validate(ONE))]
    assert [planned.specs for planned in plans] == 4 * [plans[0].specs]
    assert gotta.plan("mini").specs == tuple(load_recipe("mini").runs())


@pytest.mark.parametrize(
    ("given", "folder"),
    [("mini", "mini"), ("a/b.yaml", "b"), (ONE, "two-methods-two-memories-small")],
)
def test_runs_are_kept_in_a_folder_named_after_the_recipe(tmp_path, monkeypatch, given, folder):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.yaml").write_text(dump(ONE))
    assert gotta.plan(given).store.root == Path("runs") / folder
    assert gotta.plan(given, quick=True).store.root == Path("runs") / f"{folder}-quick"
    assert gotta.plan(given, quick=True).name == f"{folder} --quick", "for the command that a report names"


def test_memories_methods_settings_data_model_and_seeds_are_as_on_the_command_line():
    planned = gotta.plan(
        RECIPE,
        memory=["fifo", "rbm"],
        method="tent, norm",
        model={"name": "resnet20-gn"},
        seeds=[7],
        settings={"method.lr": 0.5, "stream": {"gamma": 0.3}},
    )
    assert {(spec.method.name, spec.control or spec.memory.name) for spec in planned.specs} == {
        *[("norm", name) for name in ("none", "fifo", "rbm", "same_samples")],
        *[("tent", name) for name in ("fifo", "rbm")],
    }
    assert {(spec.model.name, spec.seed, spec.stream["gamma"]) for spec in planned.specs} == {("resnet20-gn", 7, 0.3)}
    assert {spec.method.arguments.get("lr") for spec in planned.specs if spec.method.name == "tent"} == {0.5}
    assert gotta.plan(ONE, settings=["stream.gamma=0.3"]).specs[0].stream["gamma"] == 0.3


def test_progress_is_events_that_name_their_run(tmp_path):
    heard = []
    threads = torch.get_num_threads()
    result = gotta.bench(ONE, out=tmp_path, listen=heard.append)
    assert [event.kind for event in heard] == ["started", "moved", "moved", "finished"]
    assert {event.label for event in heard} == {"norm + fps, seed 0"}
    assert str(heard[0]) == "norm + fps, seed 0 started"
    assert str(heard[1]).startswith("norm + fps, seed 0 moved: step 1 of 2, accuracy ")
    assert str(heard[-1]) == f"norm + fps, seed 0 finished: accuracy {result.runs[0].accuracy:.2f}"
    assert gotta.bench(ONE, out=tmp_path, listen=heard.append).runs
    assert len(heard) == 4, "a finished run is not run again"
    assert torch.get_num_threads() == threads


def test_a_run_that_fails_is_in_the_result_and_costs_no_other(mine):
    with pytest.warns(FailedRuns, match=r"1 runs failed(.|\n)*norm \+ own_bad:Bad, seed 0: .*ValueError: mine"):
        result = gotta.bench(ONE, memory=["own_bad:Bad", "fifo"], out=mine / "out")
    (failure,) = result.failures
    assert failure.message.endswith("ValueError: mine")
    assert len(result.runs) == 1
    assert "fifo" in str(result.table())
    with pytest.raises(GottaError, match="ValueError: mine"):
        gotta.run(settings(memory="own_bad:Bad"), out=mine / "single")


def settings(memory="fps"):
    return {**SMALL, "method.name": "norm", "memory.name": memory}


def test_one_run_from_settings_sections_a_file_or_a_spec(tmp_path):
    spec = RunSpec.of(
        {
            "method": {"name": "norm"},
            "memory": {"name": "fps", "capacity": 8},
            "stream": {"per_class": 1, "domains": ["snow"]},
        }
    )
    (tmp_path / "spec.yaml").write_text(dump(spec))
    sections = {"method": {"name": "norm"}, "stream": {"per_class": 1, "domains": ["snow"]}}
    given = [spec, settings(), str(tmp_path / "spec.yaml"), tmp_path / "spec.yaml"]
    results = [gotta.run(one, out=tmp_path) for one in given]
    results.append(gotta.run(memory={"name": "fps", "capacity": 8}, out=tmp_path, **sections))
    assert [result.specs for result in results] == 5 * [(spec,)]
    assert len(list((tmp_path / "runs").iterdir())) == 1
    assert "fps" in str(results[0].table())
    assert gotta.run(spec, seed=3, out=tmp_path).specs[0].seed == 3


def test_a_run_is_recorded_if_asked(tmp_path):
    result = gotta.run(settings(), out=tmp_path, record=True)
    assert [path.stem for path in (tmp_path / "records").iterdir()] == [result.specs[0].id]
    assert list((tmp_path / "leases").glob("*/*")) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [("nowhere.yaml", "neither a spec file"), ({"method.nam": "tent"}, "Did you mean 'method.name'")],
)
def test_a_mistake_in_a_spec_is_one_error(given, words, tmp_path):
    with pytest.raises(GottaError, match=words):
        gotta.run(given, out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_recipe_that_is_none_is_one_error():
    with pytest.raises(GottaError, match=r"is not a recipe(.|\n)*'tilte' is unknown"):
        gotta.plan({**ONE, "tilte": "x"})
    with pytest.raises(GottaError, match="Did you mean 'mini'"):
        gotta.bench("mni")
    with pytest.raises(GottaError, match="3 is not a recipe: expected title, base and cells by name, got a int"):
        gotta.plan(3)


def test_any_network_runs_by_module_and_function(mine):
    result = gotta.bench(ONE, model="own_nets:build", out=mine / "out")
    assert result.specs[0].model.name == "own_nets:build"
    assert result.runs[0].numbers["online.samples"] == 10
    with pytest.raises(GottaError, match="the file of its module 'nowhere' is not found"):
        gotta.plan(ONE, model="nowhere:build", out=mine / "out")
    with pytest.raises(GottaError, match="tells 3 classes apart"):
        gotta.bench(ONE, model="own_nets:other", out=mine / "out")


def test_a_recipe_that_names_a_network_lists_its_module(mine):
    recipe = {**ONE, "base": {**ONE["base"], "model": {"name": "own_nets:Flat"}}}
    with pytest.raises(GottaError, match=r"in a recipe: imports: \[own_nets\]"):
        gotta.plan(recipe, out=mine / "out")
    planned = gotta.plan({**recipe, "imports": ["own_nets"]}, out=mine / "out")
    assert "runs per seed" in str(planned)
    assert "own_nets" not in sys.modules, "looking imports nothing"
    assert len(planned.run().runs) == 1


def test_an_edited_network_is_another_run(mine):
    before = gotta.plan(ONE, model="own_nets:build", out=mine / "out")
    before.run()
    assert gotta.plan(ONE, model="own_nets:build", out=mine / "out").todo == []
    sys.modules.pop("own_nets", None)
    (mine / "own_nets.py").write_text(NET.replace("stride=2", "stride=2, bias=False"))
    after = gotta.plan(ONE, model="own_nets:build", out=mine / "out")
    assert len(after.todo) == 1
    assert after.specs[0].id != before.specs[0].id


SCRIPT = """
import gotta

print("begun")
recipe = {recipe!r}
result = gotta.bench(recipe, seeds=[0], model="own_nets:build", out="out", jobs=2)
print(len(result.runs), "finished")
"""


@pytest.mark.thorough
def test_a_script_needs_no_guard_to_use_processes(mine):
    (mine / "script.py").write_text(SCRIPT.format(recipe=RECIPE))
    done = subprocess.run([sys.executable, "script.py"], cwd=mine, capture_output=True, text=True, check=True)
    assert done.stdout == "begun\n8 finished\n"


def test_the_public_names_are_listed():
    assert {"adapt", "bench", "plan", "run", "Memory", "load", "list_memories"} <= set(dir(gotta))
    assert all(hasattr(gotta, name) for name in dir(gotta))
    assert set(gotta.__all__) <= set(dir(gotta))
