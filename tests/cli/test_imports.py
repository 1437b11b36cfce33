"""Which code of the user's is imported: what the caller names or a recipe lists, when it is run, and nothing else."""

import json
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest
from cli.shell import ENVIRONMENT, MINE, as_in_a_shell, gotta  # noqa: F401
from experiment.tiny_sweep import sweep

from gotta import GottaError
from gotta.experiment.run.run import run
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.user_parts import REGISTRIES
from gotta.experiment.sweep.store import Store
from gotta.memory import policies

pytestmark = pytest.mark.thorough

MARK = "import pathlib\n(pathlib.Path(__file__).parent / 'imported').touch()\n"
OTHERS = """
import gotta.methods


class Still(gotta.methods.Method):
    \"\"\"Does nothing.\"\"\"
"""
RECIPE = """
title: Mine
base: {{stream: {{per_class: 1, domains: [snow]}}, memory: {{capacity: 8}}}}
seeds: [0]
{imports}
cells: [{{method: [{method}], memory: [fifo, "{memory}"]}}]
"""


@pytest.fixture
def mine(tmp_path):
    """A folder with a module that leaves a mark when it is imported; nothing is permitted yet."""
    (tmp_path / "mine.py").write_text(MARK + MINE + OTHERS)
    registries = REGISTRIES.values()
    before = [dict(registry._permitted) for registry in registries]
    for registry in registries:
        registry._permitted = {}
    yield tmp_path
    for registry, permitted in zip(registries, before, strict=True):
        registry._permitted = permitted
    sys.modules.pop("mine", None)


def imported(folder):
    return (folder / "imported").exists()


def write_recipe(folder, imports="imports: [mine]", method="norm", memory="mine:Newest"):
    (folder / "r.yaml").write_text(RECIPE.format(imports=imports, method=method, memory=memory))
    return ("bench", "r.yaml", "--out", folder / "out", "--jobs", 1)


@pytest.mark.parametrize("imports", ["", "imports: []", "imports: [mine.deeper, min, 'mine:Newest']"])
def test_a_recipe_that_does_not_list_what_it_imports_is_refused(mine, imports):
    told = gotta(*write_recipe(mine, imports), cwd=mine, code=2)
    assert "memory 'mine:Newest' is code that is not registered, so it was not imported" in told
    assert "in a recipe: imports: [mine]" in told
    assert not imported(mine)


def test_a_dry_run_imports_nothing_and_the_run_does(mine):
    command = write_recipe(mine)
    told = gotta(*command, "--dry-run", "--ids", cwd=mine)
    assert "2 runs, 0 finished before, 2 to do" in told
    assert "norm + mine:Newest, seed 0" in told
    assert not imported(mine)
    assert "mine:Newest" in gotta(*command, cwd=mine)
    assert imported(mine)


def test_a_dry_run_does_not_import_methods_data_or_networks_either(mine):
    told = gotta(*write_recipe(mine, method='"mine:Still"'), "--dry-run", cwd=mine)
    assert "Not looked at: 2 runs with parts of your own" in told
    for option in (
        ("--data", "mine:Data"),
        ("--model", "mine:Net", "model.weights=random"),
        ("method.name=mine:Still",),
    ):
        told = gotta(*write_recipe(mine, method="norm"), *option, "--dry-run", cwd=mine)
        assert "Not looked at: 2 runs" in told
    assert not imported(mine)


def test_a_method_of_ones_own_is_run_with_its_own_settings(mine):
    gotta(*write_recipe(mine, method='"mine:Still"'), cwd=mine)
    runs = Store(mine / "out").runs()
    assert {run.spec["method"]["name"] for run in runs} == {"mine:Still"}
    assert all(run.spec["method"]["statistics"] is None for run in runs), "nothing was looked up to name the run"


def test_the_commands_that_read_stores_import_nothing(mine):
    gotta(*write_recipe(mine), cwd=mine)
    (mine / "imported").unlink()
    sys.modules.pop("mine")
    sys.path.remove(str(mine))
    path = list(sys.path)
    for command in (["status", "out"], ["report", "out"], ["export", "out"], ["compare", "out", "out"]):
        assert gotta(*command, cwd=mine)
    assert sys.path == path
    (stored,) = (run for run in Store(mine / "out").runs() if run.spec["memory"]["name"] != "fifo")
    assert "mine:Newest" in gotta("show", f"out/runs/{stored.id}", cwd=mine)
    assert not imported(mine)
    assert sys.path == [*path, str(mine)], "show takes module:Class, and finds it in the last place"


def test_a_stored_run_names_no_code(mine):
    gotta(*write_recipe(mine), cwd=mine)
    (stored,) = (run for run in Store(mine / "out").runs() if run.spec["memory"]["name"] != "fifo")
    (mine / "imported").unlink()
    sys.modules.pop("mine")
    policies._permitted.clear()
    again = ("run", f"out/runs/{stored.id}/spec.json", "--out", mine / "again")
    assert "so it was not imported" in gotta(*again, cwd=mine, code=2)
    with pytest.raises(GottaError, match="so it was not imported"):
        RunSpec.of(stored.spec)
    spec = RunSpec.model_validate(stored.spec)
    for attempt in (lambda: run(spec), lambda: sweep([spec], Store(mine / "again"), 1, 1, print)):
        with pytest.raises(GottaError, match="so it was not imported"):
            attempt()
    assert not imported(mine)
    assert "mine:Newest" in gotta(*again, "memory.name=mine:Newest", cwd=mine)
    assert imported(mine)


@pytest.mark.parametrize("section", ["memory", "method", "data", "model"])
@pytest.mark.parametrize("name", ["subprocess:Popen", "os:system", "mine:Newest"])
def test_a_spec_file_names_no_code(mine, section, name):
    given = {section: {"name": name}, **({"model": {"name": name, "weights": "random"}} if section == "model" else {})}
    (mine / "spec.yaml").write_text(json.dumps({"memory": {"capacity": 8, "name": "fifo"}, **given}))
    for show in ([], ["--show"]):
        assert f"'{name}' is code that is not registered" in gotta("run", "spec.yaml", *show, cwd=mine, code=2)
    assert not imported(mine)


@pytest.mark.parametrize(
    "setting",
    ["memory.name=os:system", "data.name=subprocess:run", "method.name=subprocess:Popen", "method.name=mine:MARK"],
)
def test_what_the_caller_names_must_be_of_the_kind(mine, setting):
    told = gotta("run", setting, "memory.capacity=8", "--out", mine / "out", cwd=mine, code=2)
    assert "was not called. Expected a " in told or "cannot be imported" in told


def test_an_argument_goes_to_the_policy_and_not_to_the_memory(mine):
    (mine / "mine.py").write_text(
        MINE
        + "\n\nclass Greedy(Newest):\n    def __init__(self, **rest):\n        assert rest == {'storage': 'taken'}\n"
    )
    settings = ("memory.name=mine:Greedy", "memory.storage=taken", "memory.capacity=8", "stream.per_class=1")
    gotta("run", *settings, "stream.domains=snow", "--out", mine / "out", cwd=mine)
    assert not (mine / "taken").exists()


def test_a_plug_in_is_not_imported_to_be_listed(mine, monkeypatch):
    monkeypatch.syspath_prepend(str(mine))
    policies.names()
    monkeypatch.setitem(policies._plug_ins, "plugged", EntryPoint("plugged", "mine:Newest", "gotta_tta.memory"))
    every = "title: Every memory\nbase: {memory: {capacity: 8}}\nseeds: [0]\ncells: [{method: [norm], memory: ['*']}]\n"
    (mine / "every.yaml").write_text(every)
    command = ("bench", "every.yaml", "--out", mine / "out", "--jobs", 1)
    assert "norm + plugged, seed 0" in gotta(*command, "--dry-run", "--ids", cwd=mine)
    assert not imported(mine)
    assert policies.get("plugged").__name__ == "Newest"
    del policies._items["plugged"]
    assert imported(mine)


@pytest.mark.parametrize("setting", ["order", "schedule"])
@pytest.mark.parametrize("name", ["os:system", "subprocess:Popen", "subprocess:run"])
def test_streams_are_made_by_what_the_caller_names(mine, setting, name):
    told = gotta("run", f"stream.{setting}={name}", "--out", mine / "out", cwd=mine, code=2)
    assert f"{setting} '{name}' is a" in told
    assert "was not called. Expected a function" in told
    (mine / "stream.yaml").write_text(f"{setting}: 'mine:{name[:2]}'")
    assert "so it was not imported" in gotta("stream", "show", "stream.yaml", cwd=mine, code=2)
    (mine / "spec.yaml").write_text(f"stream: {{{setting}: 'mine:{name[:2]}'}}")
    assert "so it was not imported" in gotta("run", "spec.yaml", cwd=mine, code=2)
    assert not imported(mine)


def test_an_order_of_ones_own_is_imported_when_it_is_run(mine):
    (mine / "mine.py").write_text(
        MARK + "import numpy as np\n\n\ndef backwards(labels):\n    return np.arange(len(labels))[::-1]\n"
    )
    settings = (
        "stream.order=mine:backwards",
        "stream.per_class=1",
        "stream.domains=snow",
        "--jobs",
        1,
        "--out",
        mine / "out",
    )
    command = ("bench", "--memory", "fifo", "--method", "norm", "--seeds", "0")
    assert "Not looked at" in gotta(*command, *settings, "--dry-run", cwd=mine)
    assert not imported(mine)
    gotta(*command, *settings, cwd=mine)
    assert {run.spec["stream"]["order"] for run in Store(mine / "out").runs()} == {"mine:backwards"}


PLAN = ["bench", "--dry-run", "--method", "norm", "--memory", "fifo"]  # reads recipes, weights and images


@pytest.mark.thorough
@pytest.mark.parametrize("command", [["status", "out"], PLAN, ["--version"]])
def test_a_file_in_the_current_folder_stands_for_no_library(mine, command):
    for name in ("yaml", "rich", "typer", "numpy", "torch", "pydantic", "jinja2", "scipy", "json", "pyarrow"):
        (mine / f"{name}.py").write_text(MARK + "raise SystemExit(77)\n")
    (mine / "out" / "runs" / "bad").mkdir(parents=True)
    done = subprocess.run([sys.executable, "-m", "gotta.cli", *command], cwd=mine, env=ENVIRONMENT, capture_output=True)
    assert (done.returncode, imported(mine)) == (0, False), done.stderr
