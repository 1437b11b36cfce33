import pytest

from gotta import GottaError
from gotta.experiment.recipe.exchange import exchange_memories, exchange_methods
from gotta.experiment.recipe.recipe import Recipe, load_recipe, recipes


def recipe(*blocks, **fields):
    return Recipe.model_validate({"title": "T", "base": {"memory": {"capacity": 8}}, "cells": blocks, **fields})


def cells(specs):
    return [(spec.method.name, spec.control or spec.memory.name) for spec in specs]


def test_memories_are_exchanged_in_every_block_that_has_some():
    made = recipe(
        {"method": ["source"]},
        {"method": ["norm"], "memory": ["none", "*"]},
        {"method": ["tent"], "memory": ["fifo"], "control": ["true_kcenter"]},
        {"method": ["pl"], "axes": {"memory.name": ["cds", "fps"]}},
        {"method": ["shot"], "settings": {"memory": {"name": "cstu"}}},
        leave_out=["composed"],
    )
    assert cells(made.runs(seeds=[0], memories=["rbm", "hus"])) == [
        ("source", "none"),
        *[("norm", name) for name in ("none", "rbm", "hus")],
        *[("tent", name) for name in ("rbm", "hus", "true_kcenter")],
        *[(method, name) for method in ("pl", "shot") for name in ("rbm", "hus")],
    ]


def test_a_memory_of_the_base_is_a_memory_too():
    made = recipe({"method": ["norm"]}, base={"memory": {"name": "fps", "capacity": 8}})
    assert cells(made.runs(seeds=[0], memories=["fifo"])) == [("norm", "fifo")]


def test_wildcards_pass_over_what_the_recipe_leaves_out():
    found = cells(recipe({"method": ["norm"], "memory": ["fps"]}, leave_out=["composed"]).runs(memories=["c*"]))
    assert {memory for _, memory in found} == {"cbfifo", "cds", "cstu"}


def test_arguments_go_where_they_are_taken_and_typing_errors_stay_mistakes():
    axes = {"memory.epsilon": [0.1, 0.2]}
    made = recipe({"method": ["norm"], "memory": ["fps"], "axes": axes})
    found = [(spec.memory.name, spec.memory.arguments) for spec in made.runs(seeds=[0], memories=["fifo", "cds"])]
    assert [name for name, _ in found] == ["fifo", "cds", "cds"]
    assert "epsilon" not in found[0][1]
    assert [arguments["epsilon"] for _, arguments in found[1:]] == [0.1, 0.2]
    wrong = recipe({"method": ["norm"], "memory": ["fps"], "axes": {"memory.epsilom": [0.1]}})
    with pytest.raises(GottaError, match="epsilom"):
        wrong.runs(memories=["fifo"])


def test_blocks_that_become_equal_are_run_once():
    made = recipe(
        {"method": ["norm"], "memory": ["fifo"]},
        {"method": ["norm"], "memory": ["fps"], "axes": {"memory.epsilon": [0.005, 0.1]}},
    )
    found = [spec.memory.arguments for spec in made.runs(seeds=[0], memories=["cds"])]
    assert len(found) == 2, "0.005 is the default"


def test_a_method_of_the_recipe_is_kept_alone_and_another_takes_the_place_of_all():
    made = recipe(
        {"method": ["source"]},
        {"method": ["norm"], "memory": ["none", "fps"], "control": ["same_samples"]},
        {"method": ["sar"], "memory": ["fifo"], "settings": {"method": {"preset": "tea"}}},
    )
    assert cells(made.runs(seeds=[0], methods=["norm"])) == [
        ("norm", "none"),
        ("norm", "fps"),
        ("norm", "same_samples"),
    ]
    specs = made.runs(seeds=[0], methods=["norm", "note"])
    assert cells(specs)[:3] == [("norm", "none"), ("norm", "fps"), ("norm", "same_samples")]
    assert cells(specs)[3:] == [("note", name) for name in ("none", "fps", "same_samples", "fifo")]
    assert all(spec.method.arguments.get("preset", "official") == "official" for spec in specs)
    assert {spec.method.name for spec in made.runs(seeds=[0], methods=["s*"])} == {"source", "sar", "shot", "sotta"}


def test_methods_and_memories_are_exchanged_together():
    made = recipe({"method": ["norm"], "memory": ["none", "fps"]})
    assert cells(made.runs(seeds=[0], methods=["tent"], memories=["rbm"])) == [("tent", "none"), ("tent", "rbm")]


def test_every_recipe_takes_another_memory_and_another_method():
    names = recipes()
    assert len(names) > 20
    for name in names:
        before = load_recipe(name).sections()
        found = exchange_methods(exchange_memories(before, ["rbm"]), ["energy"])
        assert {cell["method"]["name"] for cell in found} == {"energy"}
        memories = {cell.get("memory", {}).get("name", "none") for cell in found if "control" not in cell}
        assert memories <= {"none", "rbm"}, name
        assert load_recipe(name).runs("quick", memories=["rbm"], methods=["energy"])
