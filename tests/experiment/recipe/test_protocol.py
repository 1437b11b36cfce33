"""Protocols never change, and a run is recognised by its settings."""

import re

import pytest

from gotta.errors import GottaError
from gotta.experiment.recipe.protocol import content_hash, find_protocol, load_protocol, protocols
from gotta.experiment.recipe.recipe import load_recipe, read_recipe
from gotta.experiment.spec.run_spec import RunSpec

PINNED = {  # a protocol is never edited: make another version, and add it here
    "ccc-1": "1fc085b3e5abda2e47c4b60450254f7810a96d2182380c0111d80821f5ad64cb",
    "limited-1": "c6fe988e35efb45acabe22fcb3623778a28cdf81622557e7ea1935f17f4dd73e",
    "open-1": "cff4abd3f083fd5712e3a89e36e5dce67100bd352e0d0154d3e80bd0adb02a34",
    "periodic-1": "f70f76eb9d7fc20d671ab8603d8b03291aaa2c43dabe6a203e9a9d4626c19937",
    "cdc-1": "f8f1dfc67cbd41d3bc7aaf5863953c2ecafd53192977ad2c15fce8776421c549",
    "imbalance-1": "b801de036efa62e629f9a9f7b8616fe126b15b7d3d495dd72a2ba724e28becbf",
    "markov-1": "718c19727b395fcd07a65a3bb124bd9e0d5990e0e371d4449fa1f4ada227524f",
    "recurring-1": "e9244ff398337d72cce5bb92862227b5fd8aafe00f8601883e1cb9a09c71fd0a",
    "iid-1": "3f056cba9c72597f67921025954cee03b38e8197bd364bb69cd19783c1ed4c1a",
    "ptta-1": "beb1b1cf1bcaa51b8728746e792db31163c46397af257987fc0b66c318d5dd3d",
    "video-1": "b310c21f36975b4ae9f54ed41ca89a5830cb35d2de62d284ef812404e429b08b",
}
PRACTICAL = {
    "stream": {"order": "dirichlet", "per_class": 5},
    "memory": {"name": "fps", "capacity": 32},
    "method": {"name": "norm"},
}


def changed(**sections):
    merged = {name: {**PRACTICAL.get(name, {}), **content} for name, content in sections.items()}
    return RunSpec.of({**PRACTICAL, **merged})


def name_of(spec):
    found = find_protocol(spec)
    return found and found.name


def test_the_files_of_protocols_are_as_they_were_published():
    assert {name: content_hash(name) for name in protocols() if name in PINNED} == PINNED
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*-[1-9]\d*", name) for name in protocols()), "with a version"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({}, "ptta-1"),
        ({"stream": {"domain_order": "rotta-3", "per_class": None}}, "ptta-1"),
        ({"stream": {"domains": ["fog", "snow"]}}, "ptta-1"),
        ({"data": {"name": "cifar10_c"}, "memory": {"capacity": 8}}, "ptta-1"),
        ({"stream": {"order": "iid"}}, "iid-1"),
        ({"stream": {"order": "iid", "gamma": 0.5}}, "iid-1"),
        ({"stream": {"gamma": 0.01}}, None),
        ({"stream": {"severity": 3}}, None),
        ({"stream": {"duplicates": 2}}, None),
        ({"stream": {"classes": [0, 1]}}, None),
        ({"stream": {"domains": ["fog", "spatter"]}}, None),  # one of the four that no table scores
        ({"stream": {"schedule": "mixed"}}, None),
        ({"regime": {"reset": "each_domain"}}, None),
        ({"regime": {"clock": "analytic"}}, None),
        ({"regime": {"name": "fixed"}}, None),
        ({"regime": {"expose_every": 4}}, None),
        ({"data": {"name": "open"}, "stream": {"order": "iid", "foreign": 0.2}, "regime": {"name": "fixed"}}, "open-1"),
        ({"data": {"name": "open"}, "stream": {"order": "iid", "foreign": 0.1}, "regime": {"name": "fixed"}}, None),
        ({"stream": {"order": "iid", "foreign": 0.2}}, None),
        ({"regime": {"name": "fixed", "expose_every": 4}}, "periodic-1"),
        ({"regime": {"name": "fixed", "expose_every": 4, "expose_share": 0.5}}, None),
        ({"regime": {"name": "fixed", "expose_every": 2}}, None),
        ({"regime": {"name": "fixed", "expose_first": 256, "reset": "each_domain"}}, "limited-1"),
        ({"regime": {"name": "fixed", "expose_first": 256}}, None),
        ({"regime": {"batch_size": 200}}, None),
        ({"regime": {"adapt_every": 64}}, None),
        ({"memory": {"name": "none"}}, "ptta-1"),
        ({"memory": {"name": "none"}, "regime": {"batch_size": 32}}, "ptta-1"),
        ({"memory": {"name": "none"}, "regime": {"batch_size": 65}}, None),
        ({"data": {"name": "folder", "path": "x"}}, None),
        ({"stream": {"schedule": "recurring", "repeats": 20}}, "recurring-1"),
        ({"stream": {"schedule": "recurring", "repeats": 19}}, None),
        ({"stream": {"class_imbalance": 100}}, "imbalance-1"),
        ({"stream": {"class_imbalance": 200, "head": "random"}}, "imbalance-1"),
        ({"stream": {"class_imbalance": 50}}, None),
        ({"stream": {"order": "iid", "class_imbalance": 10}}, None),
        ({"stream": {"order": "iid", "schedule": "cdc"}}, "cdc-1"),
        ({"stream": {"order": "iid", "schedule": "cdc", "delta": 0.1}}, None),
        ({"stream": {"order": "markov", "schedule": "mixed", "again": True}}, "markov-1"),
        ({"stream": {"order": "markov", "schedule": "mixed", "again": True, "class_stay": 0.95}}, "markov-1"),
        ({"stream": {"order": "markov", "schedule": "mixed", "again": True, "class_stay": 0.9}}, None),
        ({"stream": {"order": "markov", "schedule": "mixed"}}, None),
    ],
)
def test_a_run_is_recognised_by_its_settings(change, name):
    assert name_of(changed(**change)) == name


def test_a_run_from_before_a_setting_of_streams_existed_is_recognised():
    spec = changed()
    older = {name: value for name, value in spec.stream.items() if name not in ("duplicates", "underflow")}
    assert name_of(spec.model_copy(update={"stream": older})) == "ptta-1"


def test_the_recipe_on_real_video_is_of_the_protocol_of_video():
    for spec in load_recipe("signs").runs(seeds=[0])[:3] + load_recipe("signs").runs("quick")[:3]:
        assert name_of(spec) == "video-1"
    assert {name_of(spec) for spec in load_recipe("long").runs(seeds=[0])} == {"ptta-1"}
    assert {name_of(spec) for spec in load_recipe("statistics").runs()} == {None}


@pytest.mark.parametrize("name", ["recurring", "markov", "imbalance", "cdc"])
def test_the_recipe_of_a_protocol_is_of_it_also_in_its_quick_form(name):
    specs = load_recipe(name).runs(seeds=[0]) + load_recipe(name).runs("quick")
    assert {name_of(spec) for spec in specs} == {f"{name}-1"}


def test_the_recipe_markov_has_the_24_settings_of_the_published_script():
    settings = ("class_stay", "class_imbalance", "domain_stay", "domain_imbalance")
    found = {tuple(spec.stream.get(name) for name in settings) for spec in load_recipe("markov").runs(seeds=[0])}
    assert len(found) == 24


def test_a_recipe_chooses_one_of_the_values_that_a_protocol_leaves_open():
    recipe = {"title": "mine", "protocol": "imbalance-1", "base": {"stream": {"per_class": 2}}}
    recipe["cells"] = [{"method": ["source"]}]
    [spec] = read_recipe(recipe, "mine").runs(seeds=[0])
    assert spec.stream["class_imbalance"] == 10
    recipe["base"]["stream"]["class_imbalance"] = 50
    told = r"stream.class_imbalance=50 is not of protocol imbalance-1. Expected 10.0, 100.0, 200.0, or"
    with pytest.raises(GottaError, match=told):
        read_recipe(recipe, "mine").runs()


def test_a_recipe_may_begin_with_a_protocol_and_not_contradict_it():
    recipe = {
        "title": "mine",
        "protocol": "iid-1",
        "base": {"data": {"name": "cifar10-mini"}, "stream": {"per_class": 2}, "memory": {"capacity": 8}},
        "cells": [{"method": ["norm"], "memory": ["none", "fps"]}],
    }
    specs = read_recipe(recipe, "mine").runs(seeds=[0])
    assert [name_of(spec) for spec in specs] == ["iid-1", "iid-1"]
    recipe["base"]["stream"]["severity"] = 3
    with pytest.raises(GottaError, match=r"stream.severity=3 is not of protocol iid-1. Expected 5, or"):
        read_recipe(recipe, "mine").runs()
    with pytest.raises(GottaError, match=r"protocol 'iid-2' is unknown. Did you mean 'iid-1'"):
        read_recipe({**recipe, "protocol": "iid-2"}, "mine").runs()


def test_a_protocol_of_ones_own_is_a_file(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("title: mine\ndata: [cifar10-mini]\nstream: {order: iid}\n")
    with pytest.raises(GottaError, match=r"mine.yaml' is not a protocol: regime"):
        load_protocol(path)
    path.write_text(path.read_text() + "regime: {reset: never}\nscore: {number: accuracy, says: x}\ncontrols: []\n")
    assert load_protocol(path).name == "mine"
    path.write_text("[]")
    with pytest.raises(GottaError, match="is not a protocol: expected title"):
        load_protocol(path)
