"""Saving and restoring an adapted model: bit for bit, whole or not at all."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from tiny import seeded_net
from torch import nn
from whole_state import QUICK

import gotta
from gotta import GottaError, Memory, adapt, list_memories, list_methods
from gotta.core import saved as adapt_state
from gotta.methods import methods
from gotta.models import architectures

pytestmark = pytest.mark.thorough

CLASSES = 10


def images(size, seed=0):
    return torch.rand(size, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def batches(count, size=12, first=0):
    return [images(size, seed) for seed in range(first, first + count)]


def build(method, net=None, **more):
    try:
        return adapt(net or seeded_net(), method, **{"num_classes": CLASSES, **more})
    except GottaError as error:
        pytest.skip(f"{method} does not take this network: {error}")


def assert_same_continuation(model, other):
    for x in batches(6, first=100):
        assert torch.equal(model(x), other(x))
    assert (model.offered, model.adaptations) == (other.offered, other.adaptations)
    mine, theirs = model.state_dict(), other.state_dict()
    assert mine.keys() == theirs.keys()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
    assert torch.equal(model.memory.peek().x, other.memory.peek().x)


@pytest.mark.parametrize("method", list_methods())
@pytest.mark.parametrize(("memory", "capacity"), [("none", None), ("fps", 8)])
def test_a_restored_model_goes_on_bit_for_bit(tmp_path, method, memory, capacity):
    net = seeded_net()
    if memory != "none" and not methods.get(method).uses_memory:
        pytest.skip(f"{method} uses no memory")
    model = build(method, net, memory=memory, capacity=capacity, **QUICK.get(method, {}))
    for x in batches(5):
        model(x)
    model.save(tmp_path / "state")
    assert_same_continuation(model, gotta.load(tmp_path / "state", net))


@pytest.mark.parametrize("memory", [name for name in list_memories() if name not in ("none", "composed")])
def test_every_memory_goes_on_bit_for_bit(tmp_path, memory):
    net = seeded_net()
    model = adapt(net, "tent", memory, 8, CLASSES, pairing="memory", lr=0.05, seed=3)
    for x in batches(7, size=5):
        model(x)
    model.save(tmp_path)
    assert_same_continuation(model, gotta.load(tmp_path, net))


def test_settings_counters_and_cost_come_back(tmp_path):
    net = seeded_net()
    memory = gotta.memory.FPSD(epsilon=0.01)
    model = adapt(net, "tent", memory, 8, rate=0.2, statistics="running", adapt_every=6, lr=0.01)
    for x in batches(3, 10):
        model(x)
    model.freeze()
    model.save(tmp_path)
    other = gotta.load(tmp_path, net)
    assert other.frozen
    assert other.memory.num_classes == CLASSES  # found by the first batch of the saved model
    assert (other.adapt_every, other.memory.policy, other.recipe["lr"]) == (6, memory, 0.01)
    assert other.method.statistics == model.method.statistics
    assert other.method.cost.summary()["total"] == model.method.cost.summary()["total"]
    for m in (model, other):
        m.unfreeze()
    assert_same_continuation(model, other)


def test_a_state_says_which_prior_it_has(tmp_path):
    net = seeded_net()
    adapt(net).save(tmp_path)
    assert gotta.load(tmp_path, net).method.prior.name == "patient"
    with pytest.raises(GottaError, match="saved with prior=patient, this model has sticky"):
        adapt(net, prior="sticky").load(tmp_path)


def test_a_model_that_has_seen_nothing_can_be_saved(tmp_path):
    net = seeded_net()
    model = adapt(net, "tent", "fps", 4)
    model.save(tmp_path)
    assert_same_continuation(model, gotta.load(tmp_path, net))


def test_reset_after_restoring_goes_back_to_the_source(tmp_path):
    net = seeded_net()
    model = adapt(net, "tent", num_classes=CLASSES, lr=0.1)
    for x in batches(3):
        model(x)
    model.save(tmp_path)
    other = gotta.load(tmp_path, net)
    other.reset()
    assert all(torch.equal(value, other.model.state_dict()[name]) for name, value in net.state_dict().items())
    assert_same_continuation(other, adapt(net, "tent", num_classes=CLASSES, lr=0.1))


def test_nothing_is_pickled_and_the_record_is_readable(tmp_path):
    model = adapt(seeded_net(), "tent", "cstu", 4, CLASSES, lr=0.002)
    model(images(8))
    model.save(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 2
    assert names[0] == "state.json"
    assert names[1].endswith(".safetensors")
    record = json.loads((tmp_path / "state.json").read_text())
    assert record["gotta"] == gotta.__version__
    assert record["recipe"]["memory"] == "cstu"
    assert record["recipe"]["lr"] == 0.002


def test_saving_again_leaves_one_state(tmp_path):
    net = seeded_net()
    model = adapt(net, "tent", "fifo", 4, CLASSES)
    (tmp_path / "notes.txt").write_text("mine")
    for x in batches(3):
        model(x)
        model.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert_same_continuation(model, gotta.load(tmp_path, net))


@pytest.mark.parametrize("fails_at", [1, 2])
def test_a_failure_while_saving_leaves_the_old_state(tmp_path, monkeypatch, fails_at):
    net = seeded_net()
    model = adapt(net, "tent", "fifo", 4, CLASSES, lr=0.1)
    model(images(8))
    model.save(tmp_path)
    twin = gotta.load(tmp_path, net)
    model(images(8, 1))
    calls = []
    write = adapt_state.write_atomically

    def interrupted(path, content):
        calls.append(path)
        if len(calls) == fails_at:
            raise KeyboardInterrupt
        write(path, content)

    monkeypatch.setattr(adapt_state, "write_atomically", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.save(tmp_path)
    monkeypatch.undo()
    assert_same_continuation(twin, gotta.load(tmp_path, net))


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
import torch
from tiny import seeded_net
from gotta import adapt
model = adapt(seeded_net(), "tent", "fifo", 4, 10, lr=0.1)
for seed in range(10**6):
    model(torch.rand(8, 3, 8, 8, generator=torch.Generator().manual_seed(seed)))
    model.save(sys.argv[1])
    print(seed, flush=True)
"""


def test_a_kill_leaves_a_state_that_continues(tmp_path):
    here = str(Path(__file__).parents[1])
    command = [sys.executable, "-c", KILLED, str(tmp_path / "state"), here]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(3):
        process.stdout.readline()
    time.sleep(0.003)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    process.stdout.close()
    restored = gotta.load(tmp_path / "state", seeded_net())
    again = adapt(seeded_net(), "tent", "fifo", 4, 10, lr=0.1)
    for seed in range(restored.offered // 8):
        again(images(8, seed))
    assert_same_continuation(again, restored)


def saved(folder, net=None, **more):
    model = adapt(net or seeded_net(), **{"method": "tent", "memory": "fps", "capacity": 4, "lr": 0.1, **more})
    model(images(8))
    model.save(folder)


def truncate(folder):
    (path,) = folder.glob("*.safetensors")
    path.write_bytes(path.read_bytes()[:-10])


def forget(folder):
    (path,) = folder.glob("*.safetensors")
    path.unlink()


def cut(folder):
    path = folder / "state.json"
    path.write_text(path.read_text()[:-100])


def rewrite(**changes):
    def change(folder):
        path = folder / "state.json"
        path.write_text(json.dumps(adapt_state.seal({**json.loads(path.read_text()), **changes})))

    return change


def foreign(folder):
    (folder / "state.json").write_text('{"weights": [1, 2]}')


def replaced(folder):
    """Other tensors under a matching hash: somebody else's file, formally whole."""
    (path,) = folder.glob("*.safetensors")
    tensors = from_bytes(path.read_bytes())
    name = next(name for name in tensors if name.endswith("bn1.weight"))
    data = to_bytes({**tensors, name: torch.zeros(3)})
    path.write_bytes(data)
    record = json.loads((folder / "state.json").read_text())
    record["tensors"]["sha256"] = adapt_state.hashlib.sha256(data).hexdigest()
    (folder / "state.json").write_text(json.dumps(adapt_state.seal(record)))


def change_a_number(folder):
    path = folder / "state.json"
    record = json.loads(path.read_text())
    record["state"]["counters"]["offered"] += 1
    path.write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (truncate, "header says otherwise"),
        (change_a_number, "does not say what was saved"),
        (forget, "missing"),
        (cut, "damaged"),
        (foreign, "not written by save"),
        (rewrite(format=99), "format 99"),
        (rewrite(state={}), "not a readable state"),
        (rewrite(state={"memory": {"$tensor": "nowhere"}}), "not a readable state"),
        (replaced, "does not fit"),
    ],
)
def test_a_state_that_is_spoilt_changes_nothing(tmp_path, spoil, words):
    saved(tmp_path)
    model, twin = (adapt(seeded_net(), "tent", "fps", 4, lr=0.1) for _ in range(2))
    for m in (model, twin):
        m(images(8, 5))
    spoil(tmp_path)
    with pytest.raises(GottaError, match=words):
        model.load(tmp_path)
    assert_same_continuation(model, twin)
    with pytest.raises(GottaError, match=words):
        gotta.load(tmp_path, seeded_net())


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"net": seeded_net(seed=1)}, "another network"),
        ({"net": seeded_net(classes=7)}, "another network"),
        ({"net": seeded_net(nn.Identity)}, "another network"),
        ({"memory": "fifo"}, "memory=fps"),
        ({"capacity": 5}, "capacity=4"),
        ({"lr": 0.2}, "lr=0.1"),
        ({"method": "norm", "lr": None}, "method=tent"),
        ({"guard": "warn"}, "guard=None"),
    ],
)
def test_a_state_of_another_model_changes_nothing(tmp_path, other, words):
    saved(tmp_path)
    net = other.pop("net", None) or seeded_net()
    if not any(isinstance(module, nn.BatchNorm2d) for module in net.modules()):
        other = {"method": "source", "lr": None, "memory": None, "capacity": None}
    arguments = {"method": "tent", "memory": "fps", "capacity": 4, "lr": 0.1, **other}
    arguments = {name: value for name, value in arguments.items() if value is not None}
    model, twin = (adapt(net, **arguments) for _ in range(2))
    for m in (model, twin):
        m(images(8, 5))
    with pytest.raises(GottaError, match=words):
        model.load(tmp_path)
    assert_same_continuation(model, twin)


def test_another_network_is_told_before_it_is_touched(tmp_path):
    saved(tmp_path)
    net = seeded_net(seed=1)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    with pytest.raises(GottaError, match="another network"):
        gotta.load(tmp_path, net, inplace=True)
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
    assert not net._forward_hooks


def test_a_model_that_does_not_know_its_classes_stays_open(tmp_path):
    saved(tmp_path)
    replaced(tmp_path)
    model = adapt(seeded_net(), "tent", "fps", 4, lr=0.1)
    with pytest.raises(GottaError, match="does not fit"):
        model.load(tmp_path)
    assert model.recipe["num_classes"] is None
    assert_same_continuation(model, adapt(seeded_net(), "tent", "fps", 4, lr=0.1))


def test_no_state_and_no_folder_to_write_to(tmp_path):
    with pytest.raises(GottaError, match="no saved state"):
        gotta.load(tmp_path / "nowhere", seeded_net())
    (tmp_path / "file").write_text("")
    with pytest.raises(GottaError, match="cannot write"):
        adapt(seeded_net(), "tent").save(tmp_path / "file")


def test_what_cannot_be_saved_is_asked_for_again(tmp_path):
    net = seeded_net()
    model = adapt(net, "tent", Memory("fifo", 4, CLASSES), lr=0.1)
    model(images(8))
    model.save(tmp_path)
    with pytest.raises(GottaError, match="memory"):
        gotta.load(tmp_path, net)
    assert_same_continuation(model, gotta.load(tmp_path, net, memory=Memory("fifo", 4, CLASSES)))


def test_a_model_built_by_hand_loads_into_its_like(tmp_path):
    def by_hand():
        return gotta.Adapted(methods.build("tent", model=seeded_net(), lr=0.1), Memory("fifo", 4, CLASSES), 4)

    model, other = by_hand(), by_hand()
    model(images(8))
    model.save(tmp_path)
    with pytest.raises(GottaError, match="did not build"):
        gotta.load(tmp_path, seeded_net())
    other.load(tmp_path)
    assert_same_continuation(model, other)


def test_saving_and_loading_in_inference_mode(tmp_path):
    net = seeded_net()
    with torch.inference_mode():
        model = adapt(net, "tent", "fps", 4, lr=0.1)
        model(images(8))
        model.save(tmp_path)
        other = gotta.load(tmp_path, net)
    assert_same_continuation(model, other)


@pytest.mark.bfloat16
def test_weights_in_bfloat16_and_a_real_network_come_back(tmp_path):
    net = seeded_net().bfloat16()
    with pytest.warns(gotta.core.inputs.NetworkWarning, match="bfloat16"):
        model = adapt(net, "tent", "fifo", 4, CLASSES)
    model(images(8).bfloat16())
    model.save(tmp_path)
    with pytest.warns(gotta.core.inputs.NetworkWarning, match="bfloat16"):
        other = gotta.load(tmp_path, net)
    for x in batches(3):
        assert torch.equal(model(x.bfloat16()), other(x.bfloat16()))


def test_a_network_with_channels_last(tmp_path):
    net = architectures.build("resnet20").to(memory_format=torch.channels_last).eval()
    model = adapt(net, "tent", "fifo", 4, CLASSES)
    x = torch.rand(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    model(x)
    model.save(tmp_path)
    other = gotta.load(tmp_path, net)
    assert torch.equal(model(x), other(x))
    assert torch.equal(model(x), other(x))


@pytest.mark.parametrize(
    "value",
    [
        {"a": {0: (1, 2.5), "b": [None, True, {"x"}]}, "c.d": float("inf")},
        {"$tensor": "not one", 3: "int key", "n": 2**127},
        [torch.arange(3), torch.zeros(0, 2, dtype=torch.bfloat16), {"t": torch.tensor(1.5)}],
        {"a": {"b": torch.zeros(1)}, "a.b": torch.ones(1)},
    ],
)
def test_any_nested_value_survives(value):
    tensors = {}
    back = adapt_state.decode(json.loads(json.dumps(adapt_state.encode(value, tensors))), tensors)
    assert repr(back) == repr(value)


def test_a_value_that_cannot_be_saved_is_named():
    with pytest.raises(GottaError, match=r"a\.b is a function"):
        adapt_state.encode({"a": {"b": images}}, {})
