"""States that somebody else wrote: loading one runs no code, writes no file, takes no endless time."""

import json
import os
import sys
import time

import pytest
import torch
from tiny import seeded_net

import gotta
from gotta import GottaError, adapt

CLASSES = 10


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "state"
    model = adapt(seeded_net(), "tent", "fifo", 4, CLASSES)
    for seed in range(2):
        model(torch.rand(6, 3, 8, 8, generator=torch.Generator().manual_seed(seed)))
    model.save(folder)
    return folder


@pytest.fixture
def forge(saved, tmp_path):
    """A copy of the state with one thing changed: `forge("recipe.memory", "os:system")`."""

    def change(place, value):
        record = json.loads((saved / "state.json").read_text())
        *path, last = place.split(".")
        inside = record
        for part in path:
            inside = inside[part]
        inside[last] = value
        folder = tmp_path / "forged"
        folder.mkdir(exist_ok=True)
        for file in saved.glob("tensors-*"):
            (folder / file.name).write_bytes(file.read_bytes())
        (folder / "state.json").write_text(json.dumps(record))
        return folder

    return change


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A module of the user's that leaves a mark when it is imported."""
    (tmp_path / "mine_loaded.py").write_text(
        "import pathlib\n(pathlib.Path(__file__).parent / 'imported').touch()\n"
        "class Newest:\n    def place(self, table, new, rng):\n        return 0\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("mine_loaded", None)


def refused(folder, words, **again):
    began = time.monotonic()
    with pytest.raises(GottaError, match=words):
        gotta.load(folder, seeded_net(), **again)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "name", ["subprocess:Popen", "os:system", "mine_loaded:Newest", "mine_loaded:Nothing", ":", "a:"]
)
@pytest.mark.parametrize("argument", ["memory", "method"])
def test_no_state_names_code(forge, mine, argument, name):
    folder = forge(f"recipe.{argument}", name)
    refused(folder, "which is code to import: a state cannot ask for that. If you trust it, give it yourself")
    assert not (mine / "imported").exists()


def test_code_is_taken_from_the_caller(forge, mine, tmp_path):
    net = seeded_net()
    model = adapt(net, "tent", "mine_loaded:Newest", 4, CLASSES)
    model(torch.rand(6, 3, 8, 8))
    model.save(tmp_path / "state")
    record = json.loads((tmp_path / "state" / "state.json").read_text())
    assert record["give_again"] == ["memory"]
    with pytest.raises(GottaError, match=r"cannot hold memory. Give it again: load\(path, net, memory=...\)"):
        gotta.load(tmp_path / "state", net)
    other = gotta.load(tmp_path / "state", net, memory="mine_loaded:Newest")
    assert torch.equal(other.memory.peek().x, model.memory.peek().x)


@pytest.mark.parametrize("name", ["subprocess:Popen", "os:system", "json:JSONDecoder"])
def test_code_of_another_kind_is_not_called_even_for_the_caller(forge, name):
    refused(forge("recipe.capacity", 4), "was not called. Expected a class with place", memory=name)
    refused(forge("recipe.capacity", 4), "was not called. Expected a subclass of gotta.methods.Method", method=name)


@pytest.mark.parametrize("where", ["{}/taken", "taken", "cpu/../taken", "~/taken", "/dev/null", "", 3, ["taken"]])
def test_no_state_writes_a_file(forge, tmp_path, monkeypatch, where):
    monkeypatch.chdir(tmp_path)
    where = where.format(tmp_path) if isinstance(where, str) else where
    refused(forge("recipe.policy", {"storage": where}), "which writes to a file: a state cannot ask for that")
    assert not (tmp_path / "taken").exists()


def test_a_file_for_the_samples_is_given_again(tmp_path):
    net = seeded_net()
    model = adapt(net, "tent", "fifo", 4, CLASSES, policy={"storage": str(tmp_path / "pixels")})
    model(torch.rand(6, 3, 8, 8))
    model.save(tmp_path / "state")
    with pytest.raises(GottaError, match=r"cannot hold policy. Give it again"):
        gotta.load(tmp_path / "state", net)
    other = gotta.load(tmp_path / "state", net, policy={"storage": str(tmp_path / "others")})
    assert torch.equal(other.memory.peek().x, model.memory.peek().x)
    on_cpu = adapt(net, "tent", "fifo", 4, CLASSES, policy={"storage": "cpu"})
    on_cpu.save(tmp_path / "cpu")
    assert gotta.load(tmp_path / "cpu", net)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("recipe", []),
        ("recipe", "x"),
        ("recipe.inplace", True),
        ("recipe.model", 1),
        ("recipe.memory", 3),
        ("recipe.memory", {"$set": [[1]]}),
        ("recipe.memory", {"$tensor": {}}),
        ("recipe.memory", {"$float": "x"}),
        ("recipe.memory", {"$call": ["os:system"]}),
        ("recipe.policy", [1]),
        ("recipe.policy", {"rng": 5}),
        ("recipe.policy", {"capacity": 5}),
        ("recipe.capacity", 10**12),
        ("recipe.capacity", 1e300),
        ("recipe.capacity", "4"),
        ("recipe.capacity", -1),
        ("recipe.num_classes", 10**9),
        ("recipe.num_classes", 2**100),
        ("recipe.num_classes", "x"),
        ("recipe.seed", "x"),
        ("recipe.lr", "x"),
        ("recipe.unheard_of", 1),
        ("give_again", "memory"),
        ("give_again", [1]),
        ("method", 3),
        ("source", 3),
        ("tensors", None),
        ("tensors.file", 3),
        ("tensors.file", "../../../etc/passwd"),
        ("tensors.file", "."),
        ("tensors.file", ""),
        ("state", None),
        ("state", []),
        ("state.counters", {}),
        ("state.counters.offered", "x"),
        ("state.counters.offered", -1),
        ("state.counters.offered", 2**100),
        ("state.sample", [3, -8, 8]),
        ("state.sample", 3),
        ("state.frozen", "no"),
        ("state.cost", [1]),
        ("state.cost", {"predict": {"seconds": "x"}}),
        ("state.memory_state.rows", 10**12),
        ("state.memory_state.rows", 0),
        ("state.memory_state.rows", "x"),
        ("state.memory_state.clock", -1),
        ("state.memory_state.clock", "x"),
        ("state.memory_state.num_classes", 10**12),
        ("state.memory_state.dtype", "object"),
        ("state.memory_state.dtype", "x"),
        ("state.memory_state.rng", {"x": 1}),
        ("state.memory_state.rng", 5),
        ("state.memory_state.stats", [1]),
        ("state.memory_state.fields", 3),
        ("state.memory_state.slots", {"$tensor": "memory_state.label"}),
        ("state.memory_state.label", {"$tensor": "memory_state.x"}),
        ("state.memory_state.embedding", {"$tensor": "memory_state.label"}),
        ("state.memory_state.x", {"$tensor": "memory_state.label"}),
        ("state.memory_state.x", 3),
        ("state.memory_state", 3),
        ("state.method_state", {}),
        ("state.method_state", 3),
        ("state.method_state.generators", {}),
        ("state.method_state.optimizer", {"x": {}}),
    ],
)
def test_what_no_model_would_have_saved_is_one_message(forge, place, value):
    refused(forge(place, value), ".")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "nested"),
        ('{"a":' * 100_000, "nested"),
        ('{"format": ' + "1" * 5000 + "}", "whole number"),
        ('{"format": 1e999}', "number inf"),
        ('{"format": NaN}', "NaN"),
        ("", "damaged"),
        ("[]", "not written by save"),
    ],
)
def test_a_record_that_no_program_should_hold(tmp_path, text, words):
    (tmp_path / "state.json").write_text(text)
    refused(tmp_path, words)


def test_a_pipe_in_place_of_a_file_is_not_waited_for(saved, tmp_path):
    os.mkfifo(tmp_path / "state.json")
    refused(tmp_path, "not a plain file")
    (tmp_path / "state.json").unlink()
    (tmp_path / "state.json").write_bytes((saved / "state.json").read_bytes())
    os.mkfifo(tmp_path / next(saved.glob("tensors-*")).name)
    refused(tmp_path, "not a plain file")


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    model = adapt(seeded_net(), "tent", num_classes=CLASSES)
    deep: list = []
    for _ in range(150):
        deep = [deep]
    for beside in ({"deep": deep}, {"large": 2**200}):
        with pytest.raises(GottaError, match="cannot be saved"):
            model.save(tmp_path / "state", beside)
    assert not (tmp_path / "state" / "state.json").exists()
