"""States that somebody else wrote: loading one runs no code, writes no file, takes no endless time."""

import json
import os
import sys
import time
import warnings
from collections import Counter
from functools import reduce

import numpy as np
import pytest
import torch
from changed_fields import changed
from tiny import net_for, seeded_net
from whole_state import QUICK, frozen_state

import gotta
from gotta import GottaError, adapt
from gotta.core.saved import read, seal, write
from gotta.methods import methods
from gotta.state import Sized

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
        (folder / "state.json").write_text(json.dumps(seal(record)))
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


@pytest.mark.parametrize(
    "part",
    [
        {"kind": "memory", "name": "os:system", "arguments": {}},
        {"kind": "prior", "name": "patient", "arguments": {"order_in_batch": "x"}},
        {"kind": "statistics", "name": "running", "arguments": {"rate": -1}},
        {"kind": "method", "name": "tent", "arguments": {}},
        {"kind": "memory", "name": "fps", "arguments": {"storage": "taken"}},
        {"kind": "memory"},
        3,
    ],
)
def test_a_part_that_a_state_asks_for_is_one_that_comes_with_gotta(forge, part):
    refused(forge("recipe.memory", {"$part": part}), "not a readable state|no model can be built")


def test_a_file_for_the_samples_is_given_again(tmp_path):
    net = seeded_net()

    def memory(name):
        return gotta.Memory("fifo", 4, CLASSES, storage=str(tmp_path / name))

    model = adapt(net, "tent", memory("pixels"))
    model(torch.rand(6, 3, 8, 8))
    model.save(tmp_path / "state")
    with pytest.raises(GottaError, match=r"cannot hold memory. Give it again"):
        gotta.load(tmp_path / "state", net)
    other = gotta.load(tmp_path / "state", net, memory=memory("others"))
    assert torch.equal(other.memory.peek().x, model.memory.peek().x)


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
        ("state.counters.sample", [3, -8, 8]),
        ("state.counters.sample", 3),
        ("state.counters.sample", ""),
        ("state.counters.frozen", "no"),
        ("state.cost", [1]),
        ("state.cost", {"predict": {"seconds": "x"}}),
        ("state.memory.rows", 10**12),
        ("state.memory.rows", 0),
        ("state.memory.rows", "x"),
        ("state.memory.clock", -1),
        ("state.memory.clock", "x"),
        ("state.memory.num_classes", 10**12),
        ("state.memory.dtype", "object"),
        ("state.memory.dtype", "x"),
        ("state.memory.rng", {"x": 1}),
        ("state.memory.rng", 5),
        ("state.memory.stats", [1]),
        ("state.memory.fields", 3),
        ("state.memory.fields", {"label": True}),
        ("state.memory.fields.label", 3),
        ("state.memory.slots", {"$tensor": "memory.label"}),
        ("state.memory.label", {"$tensor": "memory.x"}),
        ("state.memory.embedding", {"$tensor": "memory.label"}),
        ("state.memory.x", {"$tensor": "memory.label"}),
        ("state.memory.x", 3),
        ("state.memory", 3),
        ("state.memory", {"$tensor": "memory.x"}),
        ("state.memory", {"$tensor": "memory.label"}),
        ("state.method", {}),
        ("state.method", 3),
        ("state.method.generators", {}),
        ("state.method.optimizer", {"x": {}}),
    ],
)
def test_what_no_model_would_have_saved_is_one_message(forge, place, value):
    refused(forge(place, value), ".")


def images(seed, size=6):
    return torch.rand(size, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def warm(method, streams=None, **arguments):
    model = adapt(net_for(method), method, pairing="paper", seed=1, **QUICK.get(method, {}), **arguments)
    for seed in range(3):
        model(images(seed), **({"stream": streams} if streams else {}))
    return model


def leaves(state, path=()):
    """Every value in a nested state, with the way to it."""
    inside = state.items() if isinstance(state, dict) else enumerate(state) if isinstance(state, list) else ()
    for key, value in inside:
        yield from leaves(value, (*path, key))
    if not inside:
        yield path, state


def find(state, path):
    return reduce(lambda inside, key: inside[key], path, state)


def put(state, path, value):
    """A copy with another value there."""
    if not path:
        return value
    key, *rest = path
    inside = put(state[key], rest, value)
    if isinstance(state, dict):
        return {**state, key: inside}
    return [inside if at == key else part for at, part in enumerate(state)]


class Changed:
    """Loads states of a model that differ from its own in one value, each of which must leave it as it was."""

    def __init__(self, model, folder):
        self.model, self.folder = model, folder
        model.save(folder)
        record, self.state = read(folder)
        self.record = {name: part for name, part in record.items() if name not in ("tensors", "state", "sha256")}
        self.before = frozen_state(model)

    def refused(self, path, values):
        for value in values:
            write(self.folder, self.record, put(self.state, path, value))
            with pytest.raises(GottaError, match="does not fit this model"):
                self.model.load(self.folder)
            assert frozen_state(self.model) == self.before, (path, value)


WRONG = ["x", True, [], [0.5], {"x": 1}, torch.arange(3), torch.rand(2, 2, 2, 2, 2), torch.zeros(0)]


TO_REMEMBER = {  # what a method needs to remember anything here: with levels, training waits for a change of domain
    **{name: {"statistics": "batch"} for name in ("delta", "energy", "roid")},
    **{name: {"e_margin": 10.0, "statistics": "batch"} for name in ("eata", "eta", "rdumb")},
    "foa": {"source_data": images(8, 64)},
    "petta": {"source_data": images(8, 64), "statistics": "batch"},
}


@pytest.mark.parametrize(
    ("method", "streams"),
    [*((name, None) for name in methods.names() if methods.get(name).remembers), ("neo", [0, 1] * 3)],
)
def test_what_a_method_remembers_must_be_of_its_kind_and_size(method, streams, tmp_path):
    model = warm(method, streams, **TO_REMEMBER.get(method, {}))
    changed = Changed(model, tmp_path)
    top = ("method", "remembers") if streams is None else ("streams", 1, 1, "remembered")
    for name, read_back in model.method.remembers.items():
        changed.refused((*top, name), WRONG)
        value = find(changed.state, (*top, name))
        if isinstance(value, torch.Tensor):
            changed.refused((*top, name), [value[None], value.long()])
        if isinstance(read_back, Sized):
            changed.refused((*top, name), [torch.cat([value, value], value.ndim - 1), value * torch.nan])


@pytest.mark.parametrize("prior", ["patient", "oatta"])
@pytest.mark.parametrize("streams", [None, [0, 1] * 3])
def test_levels_and_priors_must_be_of_their_kind_and_size(streams, prior, tmp_path):
    model = warm("deskew", streams, prior=prior)
    changed = Changed(model, tmp_path)
    top = ("method",) if streams is None else ("streams", 1, 1)
    tried = 0
    for part in ("statistics", "prior"):
        for path, value in leaves(find(changed.state, (*top, part))):
            if isinstance(value, torch.Tensor):
                more = [value[None], value.long() if value.is_floating_point() else value.double()]
                more += [torch.cat([value, value])] if part == "prior" else []
                changed.refused((*top, part, *path), ["x", 3, None, [0.5], *more])
                tried += 1
            elif value is not None:
                changed.refused((*top, part, *path), ["x", [], torch.rand(3)])
    assert tried > 14


SAID = ("shadow", "known", "said")


@pytest.mark.parametrize(
    ("settings", "top", "wrong"),
    [
        ({"guard": "rollback"}, ("guard", "kept", "x"), [torch.rand(4, 3), torch.rand(4, 3, 8, 9)]),
        ({"guard": "rollback"}, ("guard", "kept", "label"), [torch.rand(4), torch.full((4,), CLASSES), -torch.ones(4)]),
        ({"guard": "rollback"}, ("guard", "kept", "certainty"), [torch.arange(4), torch.rand(4, 1).double()]),
        ({"guard": "rollback"}, ("guard", "company"), [torch.rand(4), torch.rand(4, 3, 8, 9), torch.rand(())]),
        (
            {"shadow": True},
            ("shadow", "known", "said"),
            [torch.rand(2, CLASSES), torch.arange(2), torch.ones(2, 3).long()],
        ),
    ],
)
def test_what_watches_a_model_must_have_kept_such_samples(settings, top, wrong, tmp_path):
    model = warm("norm", memory="fps", capacity=6, **settings)
    changed = Changed(model, tmp_path)
    kept = find(changed.state, top)
    assert top[-1] in ("company", "said") or len(kept) == 4
    changed.refused(top, ["x", 3, [0.5], *wrong])


def test_labels_and_certainties_that_have_changed_places_are_refused(tmp_path):
    changed = Changed(warm("norm", memory="fps", capacity=6, guard="rollback"), tmp_path)
    kept = find(changed.state, ("guard", "kept"))
    changed.refused(("guard", "kept"), [{**kept, "label": kept["certainty"], "certainty": kept["label"]}])


def test_a_state_of_groups_needs_as_many_classes(tmp_path):
    """With more than 128 classes, groups of them have signatures."""
    model = adapt(seeded_net(classes=130), num_classes=130)
    for seed in range(3):
        model(images(seed))
    changed = Changed(model, tmp_path)
    groups = model.method.statistics.groups
    assert len(groups) == 130
    changed.refused(("method", "statistics", "groups"), [groups[:-1], groups[:0], groups - 1, groups + 1])


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


SETUPS = {
    "tent": {"memory": "fifo", "capacity": 4},
    "deskew": {},
    "rotta": {"memory": "cstu", "capacity": 6, "guard": "rollback"},
    "eata": {"memory": "fps", "capacity": 6},
}


def try_changes(method, numbers, folder):
    """States with one field changed are refused by one error, or are states that go on; unsealed ones are refused."""
    model = adapt(seeded_net(), method, num_classes=CLASSES, **SETUPS[method])
    for seed in range(3):
        model(torch.rand(6, 3, 8, 8, generator=torch.Generator().manual_seed(seed)))
    model.save(folder)
    record, found, net = json.loads((folder / "state.json").read_text()), Counter(), seeded_net()
    for number in numbers:
        other, place = changed(record, np.random.default_rng([27, number]))
        if other == record:
            continue
        is_sealed = number % 4 > 0
        (folder / "state.json").write_text(json.dumps(seal(other) if is_sealed else other))
        began = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loaded = gotta.load(folder, net)
                assert is_sealed, (number, place)
                loaded(torch.rand(6, 3, 8, 8, generator=torch.Generator().manual_seed(9)))
                found["loaded"] += 1
            except GottaError:
                found["refused"] += 1
            except Exception as error:
                raise AssertionError((number, place)) from error
        assert time.monotonic() - began < 20, (number, place)
    return found


@pytest.mark.parametrize("method", SETUPS)
def test_a_changed_field_is_refused_or_is_a_state_that_goes_on(method, tmp_path):
    found = try_changes(method, range(60), tmp_path)
    assert found["refused"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("method", SETUPS)
@pytest.mark.parametrize("part", range(5))
def test_twenty_thousand_changed_fields(method, part, tmp_path):
    found = try_changes(method, range(1000 * part, 1000 * part + 1000), tmp_path)
    assert found["refused"] > 300
