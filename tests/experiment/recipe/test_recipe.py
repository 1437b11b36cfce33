import time

import pytest

from gotta import GottaError
from gotta.experiment.recipe.recipe import Recipe, load_recipe
from gotta.experiment.spec import best_rates as kept
from gotta.experiment.spec.best_rates import FILE
from gotta.experiment.spec.completing import CONTROLS
from gotta.json_yaml import parse_yaml


def test_mini_is_what_its_description_says():
    specs = load_recipe("mini").runs()
    assert {spec.seed for spec in specs} == {0, 1, 2}
    assert {(spec.stream["per_class"], spec.stream["redraws"], spec.stream["severity"]) for spec in specs} == {
        (200, 3, 5)
    }
    norm = [spec for spec in specs if spec.method.name == "norm"]
    assert {spec.control for spec in norm} == {None, "running_statistics", "same_samples"}
    memories = {name: {spec.memory.name for spec in specs if spec.method.name == name} for name in ("norm", "rotta")}
    assert memories["norm"] == {"none", "fifo", "cbfifo", "reservoir", "pbrs", "cstu", "cds", "fps"}
    assert memories["rotta"] == {"none", "cstu", "fps"}
    assert {spec.regime.batch_size for spec in specs if spec.method.name in ("source", "deskew")} == {32}
    quick = load_recipe("mini").runs("quick")
    assert {(spec.stream["per_class"], spec.stream["redraws"], spec.seed) for spec in quick} == {(200, 3, 0)}
    assert {spec.control or spec.memory.name for spec in quick if spec.method.name == "norm"} == {
        *("none", "fifo", "pbrs", "cstu", "fps", "running_statistics")
    }


def test_short_is_what_its_description_says():
    specs = load_recipe("short").runs()
    streams = {order: [spec for spec in specs if spec.stream["order"] == order] for order in ("dirichlet", "iid")}
    assert sum(map(len, streams.values())) == len(specs)
    assert {spec.seed for spec in streams["dirichlet"]} == {0, 1}
    assert {spec.seed for spec in streams["iid"]} == {0}
    norm = [spec for spec in streams["dirichlet"] if spec.method.name == "norm"]
    assert {spec.control for spec in norm} == {None, *CONTROLS}
    memories = {spec.memory.name for spec in norm if not spec.control}
    assert memories == {"none", "fifo", "pbrs", "cstu", "cds", "fps"}
    assert {spec.method.statistics for spec in norm if not spec.has_memory and not spec.control} == {
        "batch",
        "gated",
        "class",
    }
    source = [spec for spec in streams["dirichlet"] if spec.method.name == "source"]
    assert {spec.method.prior for spec in source} == {None, "patient"}
    assert {(spec.method.name, spec.control or spec.memory.name) for spec in streams["iid"]} == {
        ("norm", "none"),
        ("norm", "fps"),
        ("norm", "running_statistics"),
        ("deskew", "none"),
    }
    assert {spec.regime.batch_size for spec in specs if spec.method.statistics in ("gated", "class")} == {32}
    assert all(spec.stream["per_class"] == 200 and spec.stream["severity"] == 5 for spec in specs)
    assert {len(spec.stream["domains"]) for spec in specs} == {4}


def test_short_has_the_control_and_the_best_memory_at_their_best_rates():
    measured = parse_yaml(FILE.read_text())["rates"]["norm"]
    rates = {}
    for spec in load_recipe("short").runs(seeds=[0]):
        if spec.method.rate is not None and spec.stream["order"] == "dirichlet":
            rates.setdefault(spec.control or spec.memory.name, set()).add(spec.method.rate)
    best = max(
        (name for name in rates if name not in CONTROLS), key=lambda name: max(measured[name]["accuracies"].values())
    )
    second = {name: found - {0.05} for name, found in rates.items() if len(found) > 1}
    assert second == {name: {measured[name]["rate"]} for name in (best, "running_statistics")}


def test_memories_given_replace_those_of_every_block():
    specs = load_recipe("signs").runs(memories=["fps"], seeds=[5])
    assert {spec.memory.name for spec in specs if spec.method.name == "norm" and not spec.control} == {"none", "fps"}
    assert {spec.memory.name for spec in specs if spec.method.name == "tent" and not spec.control} == {"none", "fps"}
    assert {spec.seed for spec in specs} == {5}


def test_a_recipe_of_ones_own(tmp_path):
    text = "title: Mine\nbase: {memory: {capacity: 8}}\nseeds: [3]\ncells: [{method: [tent], memory: [fps]}]"
    (spec,) = mine(tmp_path, text).runs()
    assert (spec.method.name, spec.memory.name, spec.memory.capacity, spec.seed) == ("tent", "fps", 8, 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "not YAML: line 1"),
        ("title: x\nbase:\n\tdata: {}", r"line 3, column 1: .*Indent with spaces"),
        ("title: x\nbase: {}\ntitle: y", "line 3, column 1: 'title' stands twice"),
        ("title: x", "base"),
        ("- 1", "got a list"),
        ("", "got nothing"),
    ],
    ids=["yaml", "tabs", "twice", "field", "list", "empty"],
)
def test_a_wrong_file_is_one_error(tmp_path, text, words):
    path = tmp_path / "wrong.yaml"
    path.write_text(text)
    with pytest.raises(GottaError, match=words):
        load_recipe(str(path))


MINE = """
title: Mine
base: {data: {name: cifar10-mini}, memory: {capacity: 8}}
axes: {stream.gamma: [0.1, 1e-4]}
cells:
  - {method: [tent, norm], memory: [none, fps]}
  - {method: [tent], memory: [fps], axes: {memory.epsilon: [0.1, 0.2]}, settings: {method: {lr: 1e-5}}}
quick: {axes: {stream.gamma: [0.5]}, base: {stream: {per_class: 3}}}
"""


def mine(tmp_path, text=MINE):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return load_recipe(str(path))


def test_axes_are_crossed_with_the_cells(tmp_path):
    recipe = mine(tmp_path)
    assert recipe.seeds == [0, 1, 2]
    specs = recipe.runs(seeds=[0])
    found = [(s.method.name, s.memory.name, s.stream["gamma"], s.memory.arguments.get("epsilon")) for s in specs]
    assert len(set(found)) == len(found) == 2 * (4 + 2)
    assert ("tent", "fps", 1e-4, 0.2) in found
    assert {s.method.arguments.get("lr") for s in specs if s.memory.arguments.get("epsilon") == 0.2} == {1e-5}
    assert {(s.stream["gamma"], s.stream["per_class"]) for s in recipe.runs("quick")} == {(0.5, 3)}


def test_an_axis_may_be_a_section(tmp_path):
    text = "title: T\nbase: {}\naxes: {regime: [{clock: none}, {clock: analytic, pace: 4}]}\ncells: [{method: [tent]}]"
    specs = mine(tmp_path, text).runs(seeds=[0])
    assert [(spec.regime.clock, spec.regime.pace) for spec in specs] == [("none", None), ("analytic", 4)]


def test_what_is_given_stands_over_everything_in_the_cells_that_take_it(tmp_path):
    specs = mine(tmp_path).runs(seeds=[0], method={"lr": 0.5}, memory={"epsilon": 0.3}, stream={"gamma": 1.0})
    assert {spec.stream["gamma"] for spec in specs} == {1.0}
    assert {spec.method.arguments.get("lr") for spec in specs if spec.method.name == "tent"} == {0.5}
    assert {spec.method.arguments.get("lr") for spec in specs if spec.method.name == "norm"} == {None}
    assert {spec.memory.arguments.get("epsilon") for spec in specs if spec.memory.name == "fps"} == {0.3}
    assert len(specs) == 4, "cells that came to be equal are run once"


def test_an_argument_that_no_cell_takes_is_a_mistake(tmp_path):
    with pytest.raises(GottaError, match=r"2 mistakes(.|\n)*'memory.epsilon'(.|\n)*'method.lr'"):
        mine(tmp_path).runs(memory={"epsilom": 1}, method={"lrr": 1})


def test_a_seed_that_is_given_is_the_only_one(tmp_path):
    assert {spec.seed for spec in mine(tmp_path).runs(over={"seed": 7})} == {7}
    with pytest.raises(GottaError, match="Did you mean 'seed'"):
        mine(tmp_path).runs(over={"seeds": [7]})


def test_methods_and_memories_can_be_chosen(tmp_path):
    specs = mine(tmp_path).runs(seeds=[0], methods=["norm"], memories=["fifo"])
    assert {(spec.method.name, spec.memory.name) for spec in specs} == {("norm", "none"), ("norm", "fifo")}
    with pytest.raises(GottaError, match="Did you mean 'norm'"):
        mine(tmp_path).runs(methods=["nrom"])


def test_mistakes_are_told_together_with_their_cells(tmp_path):
    text = (
        MINE.replace("[none, fps]}", "[none, fsp]}")
        .replace("stream.gamma", "stream.gama")
        .replace("epsilon", "epsilom")
    )
    with pytest.raises(GottaError) as error:
        mine(tmp_path, text).runs()
    lines = str(error.value).splitlines()
    assert lines[0] == "3 mistakes in the recipe and its settings:"
    (gama,), (fsp,), (epsilom,) = ([line for line in lines if word in line] for word in ("gama'", "'fsp'", "epsilom'"))
    assert "Did you mean 'gamma'" in gama
    assert gama.endswith("(in every cell)")
    assert "Did you mean 'fps'" in fsp
    assert fsp.endswith("(in tent + fsp, norm + fsp)")
    assert "Did you mean 'memory.epsilon'" in epsilom
    assert "in tent + fps" in epsilom


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tilte: x", "'tilte' is unknown. Did you mean 'title'"),
        ("cells: [{metod: [tent], method: [tent]}]", "Did you mean 'cells.0.method'"),
        ("quick: {bse: {}}", "Did you mean 'quick.base'"),
        ("axes: {stream.gamma: []}", "axes.stream.gamma"),
        ("seeds: []", "seeds"),
    ],
)
def test_wrong_keys_of_a_recipe_name_the_nearest(tmp_path, line, words):
    text = "title: T\nbase: {}\ncells: [{method: [tent]}]\n"
    kept = [one for one in text.splitlines() if one.split(":")[0] != line.split(":")[0]]
    with pytest.raises(GottaError, match=r"mine.yaml is not a recipe") as error:
        mine(tmp_path, "\n".join([*kept, line]))
    assert words in str(error.value)


def test_mistakes_of_the_file_its_cells_and_the_command_line_are_told_together(tmp_path):
    text = MINE.replace("title: Mine", "title: Mine\nseedz: [1]").replace("method: [tent, norm]", "method: tnt")
    with pytest.raises(GottaError, match="3 mistakes in it") as error:
        mine(tmp_path, text)
    for words in ("'seedz' is unknown", "cells.0.method: expected a list, such as [tnt]", "method 'tnt' is unknown"):
        assert words in str(error.value)
    recipe, over = mine(tmp_path, MINE.replace("none, fps", "none, fsp")), {"method": {"lrr": 1}, "stream": {"gama": 1}}
    with pytest.raises(GottaError, match="4 mistakes") as error:
        recipe.runs(over=over, seeds=[1, 1])
    for words in ("'method.lrr'", "'gama'", "memory 'fsp'", "seed 1 stands twice"):
        assert words in str(error.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("seeds: [0, 1, 0]", "seed 0 stands twice"),
        ("quick: {axes: {stream.gama: [1]}}", "Did you mean 'stream.gamma'"),
        ("leave_out: [composd]", "Did you mean 'composed'"),
    ],
)
def test_names_that_refer_to_nothing_and_seeds_that_stand_twice(tmp_path, line, words):
    kept = [one for one in MINE.splitlines() if one.split(":")[0] != line.split(":")[0]]
    with pytest.raises(GottaError, match=words):
        mine(tmp_path, "\n".join([*kept, line])).runs()


def test_a_capacity_of_the_wrong_kind_is_one_mistake(tmp_path):
    with pytest.raises(GottaError) as error:
        mine(tmp_path, MINE.replace("capacity: 8", "capacity: big")).runs()
    assert "memory.capacity" in str(error.value)
    assert "needs a capacity" not in str(error.value)


def test_unknown_and_missing():
    with pytest.raises(GottaError, match="Did you mean 'mini'"):
        load_recipe("mni")
    with pytest.raises(GottaError, match="Known by name: advise"):
        load_recipe("nowhere.yaml")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "a: &a [x, x]\n"
            + "".join(f"a{k}: &a{k} [*a{k - 1 if k else ''}, *a{k - 1 if k else ''}]\n" for k in range(40)),
            "aliases",
        ),
        ("title: " + "[" * 50_000, "nested"),
        ("title: &t [*t]", "nested"),
        ("title: 1" + ":1" * 50_000, "whole number"),
        ("title: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("title: 2020-01-01", "Put it in quotes"),
    ],
)
def test_a_recipe_that_no_program_should_hold_is_one_message(tmp_path, text, words):
    (tmp_path / "r.yaml").write_text(text)
    began = time.monotonic()
    with pytest.raises(GottaError, match=words):
        load_recipe(str(tmp_path / "r.yaml"))
    assert time.monotonic() - began < 20


def test_a_recipe_of_endless_runs_is_told_before_they_are_made():
    axes = {f"method.a{k}": list(range(50)) for k in range(9)}
    recipe = Recipe(title="", base={}, axes=axes, cells=[{"method": ["tent"]}])
    with pytest.raises(GottaError, match=r"stands for up to [\d,]+ runs. Expected at most 1,000,000"):
        recipe.runs()


def test_control_characters_stay_out_of_titles_and_labels():
    recipe = Recipe.model_validate({"title": "a\x1b[31m\nb", "base": {}, "cells": [{"method": ["norm"]}]})
    assert recipe.title == "a\\x1b[31m\\nb"


TWO_RATES = """
title: Two rates
base: {memory: {capacity: 8}}
seeds: [0, 1]
cells:
  - {method: [norm], memory: [fps, fifo, cstu], control: [running_statistics]}
  - {method: [norm, rotta], memory: [fps, fifo, cstu], control: [running_statistics], settings: {method: {rate: best}}}
"""


@pytest.fixture
def two_rates(tmp_path, monkeypatch):
    found = {("norm", "fps"): 0.2, ("norm", "fifo"): 0.05, ("norm", "running_statistics"): 0.1}
    monkeypatch.setattr(kept, "best_rates", lambda: found)
    return mine(tmp_path, TWO_RATES)


def test_a_block_at_best_rates_runs_what_was_measured_once_and_names_the_rest(two_rates):
    specs = two_rates.runs()
    rates = sorted((spec.control or spec.memory.name, spec.method.rate) for spec in specs if spec.seed == 1)
    assert rates == [
        ("cstu", 0.05),
        ("fifo", 0.05),
        ("fps", 0.05),
        ("fps", 0.2),
        ("running_statistics", 0.05),
        ("running_statistics", 0.1),
    ]
    rotta = [f"rotta + {row}" for row in ("fps", "fifo", "cstu", "running_statistics")]
    assert two_rates.without_rate("", [], [], {}) == ["norm + cstu", *rotta]
    assert two_rates.without_rate("", [], ["norm"], {}) == ["norm + cstu"]
    assert two_rates.without_rate("", ["pbrs"], ["norm"], {}) == ["norm + pbrs"]
    assert two_rates.without_rate("", [], [], {"method": {"rate": 0.1}}) == []


def test_a_recipe_of_nothing_but_unmeasured_rates_is_a_mistake(two_rates):
    with pytest.raises(GottaError, match="nothing is measured for tent"):
        two_rates.runs(methods=["tent"], over={"method": {"rate": "best"}})


def test_a_block_may_keep_to_the_first_seeds(tmp_path):
    cells = "[{method: [source]}, {method: [norm], seeds: 2}]"
    text = f"title: Mine\nbase: {{memory: {{capacity: 8}}}}\nseeds: [3, 4, 5]\ncells: {cells}"
    recipe = mine(tmp_path, text)
    assert [spec.seed for spec in recipe.runs() if spec.method.name == "norm"] == [3, 4]
    assert [spec.seed for spec in recipe.runs() if spec.method.name == "source"] == [3, 4, 5]
    assert {spec.seed for spec in recipe.runs(seeds=[7])} == {7}
    asked = recipe.runs(seeds=[7, 8, 9])
    assert [spec.seed for spec in asked if spec.method.name == "norm"] == [7, 8, 9]  # the caller's word reaches all
    assert [spec.seed for spec in recipe.runs(seeds=[9, 8, 7], methods=["tent"])] == [9, 8, 7]
    with pytest.raises(GottaError, match=r"cells\.0\.seeds"):
        mine(tmp_path, text.replace("{method: [source]}", "{method: [source], seeds: 0}"))
