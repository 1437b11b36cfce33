"""Several writers and readers of one folder, forks, and states that ask for more room than a model can need."""

import errno
import json
import multiprocessing
import os
import select
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from types import SimpleNamespace

import pytest
import torch
from tiny import seeded_net
from torch.utils.data import DataLoader, Dataset
from whole_state import frozen_state

import gotta
from gotta import GottaError, adapt
from gotta.core import between_steps, saved
from gotta.core.saved import seal


def images(size=8, seed=0):
    return torch.rand(size, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def warm(seed=0, **settings):
    model = adapt(seeded_net(), **{"method": "tent", "memory": "fps", "capacity": 8, **settings})
    model(images(seed=seed))
    return model


def test_another_model_that_is_saved_there_while_one_is_loaded_does_not_matter(tmp_path, monkeypatch):
    mine, other = warm(seed=1), warm(seed=2, capacity=4)
    mine.save(tmp_path)

    def build(*given, **named):
        other.save(tmp_path)
        return adapt(*given, **named)

    monkeypatch.setattr("gotta.core.build.adapt", build)
    found = gotta.load(tmp_path, seeded_net())
    assert frozen_state(found) == frozen_state(mine)


def test_of_two_who_save_to_one_folder_the_last_is_what_loads(tmp_path):
    models = [warm(seed) for seed in range(3)]
    net = seeded_net()  # seeded here: threads share the generator that its weights are drawn from
    errors = []

    def save(model):
        try:
            for _ in range(15):
                model.save(tmp_path, {"who": models.index(model)})
                gotta.load(tmp_path, net)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=save, args=(model,)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    model = warm()
    who = model.load(tmp_path)["who"]
    assert torch.equal(model.memory.peek().x, models[who].memory.peek().x)
    assert len(list(tmp_path.iterdir())) == 2, "what nobody needs is tidied away"


def test_a_file_that_is_larger_than_its_header_says_is_not_read(tmp_path):
    model = warm()
    model.save(tmp_path)
    (path,) = tmp_path.glob("*.safetensors")
    with path.open("r+b") as file:
        file.truncate(200 << 30)  # sparse
    start = time.perf_counter()
    with pytest.raises(GottaError, match="header says otherwise"):
        model.load(tmp_path)
    assert time.perf_counter() - start < 5


def test_a_header_that_asks_for_more_than_such_a_model_needs_is_refused(tmp_path):
    model = warm()
    model.save(tmp_path)
    (path,) = tmp_path.glob("*.safetensors")
    size = 200 << 30
    header = json.dumps({"x": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    with path.open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + size)
    with pytest.raises(GottaError, match="are read for such a model"):
        model.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sheltering", 1),
        ("episodes", -1),
        ("evidence", "x"),
        ("company", 3),
        ("snapshot", {"method": {}}),
        ("snapshot", {"method": {}, "memory": None}),
        ("kept", {"x": 1}),
        ("kept", [1]),
    ],
)
def test_what_the_guard_knows_is_checked(name, value, tmp_path):
    model = warm(guard="rollback")
    model.save(tmp_path)
    path = tmp_path / "state.json"
    record = json.loads(path.read_text())
    record["state"]["guard"][name] = value
    path.write_text(json.dumps(seal(record)))
    with pytest.raises(GottaError, match=r"does not fit|not a readable state"):
        model.load(tmp_path)


class Labelled(Dataset):
    """Asks an adapted model in the processes of a DataLoader."""

    def __init__(self, model):
        self.model = model

    def __len__(self):
        return 4

    def __getitem__(self, at):
        self.model.freeze()
        return self.model(images(2, at)).argmax(1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_beside_a_stepping_thread_goes_on():
    model = warm()
    ends = threading.Event()

    def serve():
        while not ends.is_set():
            model(images())

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        for _ in range(3):
            child = os.fork()
            if child == 0:
                model(images(2, 3))
                os._exit(7)
            deadline = time.monotonic() + 60
            while (done := os.waitpid(child, os.WNOHANG)) == (0, 0):
                if time.monotonic() > deadline:
                    os.kill(child, 9)
                    os.waitpid(child, 0)
                    pytest.fail("the child hangs")
                time.sleep(0.01)
            assert os.waitstatus_to_exitcode(done[1]) == 7
    finally:
        ends.set()
        thread.join()


def test_writers_wait_for_one_another_where_only_files_can_be_locked(tmp_path, monkeypatch):
    """As on Windows, with a stand-in for its locks: the second waits, beyond the ten seconds of one try as well."""
    held, tries = threading.Lock(), []

    def locking(opened, mode, count):
        tries.append(opened)
        if not held.acquire(timeout=0.05):
            raise OSError(errno.EDEADLOCK, "ten seconds")

    def close(opened, own=os.close):
        own(opened)
        if opened in tries and held.locked():
            held.release()

    monkeypatch.setattr(saved, "ON_WINDOWS", True)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_LOCK=1))
    monkeypatch.setattr(saved.os, "close", close)
    inside = []

    def write(number):
        with saved.alone_in(tmp_path):
            inside.append(number)
            time.sleep(0.2)
            assert inside.pop() == number
            assert inside == []

    threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tries) > 2, "the second has tried again"
    assert (tmp_path / saved.LOCK).exists()


def answer_in_a_child(model, numbers):
    """What a worker that is forked now answers, as a server that forks before it serves has it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        found = [model(images(2, number)).argmax(1).tolist() for number in numbers]
        os.write(writer, json.dumps(found).encode())
        os._exit(0)
    os.close(writer)
    return child, reader


def read_answer(child, reader):
    ready, _, _ = select.select([reader], [], [], 60)
    if not ready:
        os.kill(child, 9)
    os.waitpid(child, 0)
    with os.fdopen(reader) as file:
        assert ready, "the child hangs"
        return json.loads(file.read())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_workers_of_a_server_that_forks_first_answer_as_one_process_does():
    model = warm(guard="rollback")
    expected = deepcopy(model)
    wanted = [expected(images(2, number)).argmax(1).tolist() for number in range(6)]
    children = [answer_in_a_child(model, range(6)) for _ in range(3)]
    assert [read_answer(*child) for child in children] == [wanted] * 3
    assert [model(images(2, number)).argmax(1).tolist() for number in range(6)] == wanted, "and so does the parent"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_inside_a_step_waits_for_nobody():
    """A hook that starts a process: the step goes on in the parent; in the child the next call begins before it."""
    model = warm()
    twin, started = deepcopy(model), []
    twin_answer = twin(images(2, 5))

    def start(*_):
        if not started and os.getpid() == parent:
            started.append(answer_in_a_child_after_an_interrupt(model))

    parent = os.getpid()
    hook = model.model.fc.register_forward_hook(start)
    began = time.monotonic()
    answer = model(images(2, 5))
    hook.remove()
    assert time.monotonic() - began < 4, "its own lock is not waited for"
    assert torch.equal(answer, twin_answer)
    assert read_answer(*started[0]) == twin_answer.argmax(1).tolist()


def answer_in_a_child_after_an_interrupt(model):
    """Forked inside a step, which the child leaves at once; then it is asked for the same step."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        found = []

        def ask():
            found.append(model(images(2, 5)).argmax(1).tolist())

        model.model.fc._forward_hooks.clear()
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(30)
        os.write(writer, json.dumps(found[0] if found else "none").encode())
        os._exit(0)
    os.close(writer)
    return child, reader


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_data_loader_takes_an_adapted_model(context):
    model = warm()
    labels = list(DataLoader(Labelled(model), num_workers=1, multiprocessing_context=context, batch_size=2))
    assert [found.shape for found in labels] == [(2, 2), (2, 2)]


def predict(model, answers):
    answers.put(model(images(2, 1)).argmax(1).tolist())


def test_spawn_takes_an_adapted_model():
    model = warm(guard="rollback")
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    child = context.Process(target=predict, args=(model, answers))
    child.start()
    child.join(120)
    assert child.exitcode == 0
    assert answers.get() == model(images(2, 1)).argmax(1).tolist()


def test_two_threads_that_fork_at_once_give_back_their_own_locks(monkeypatch):
    model = gotta.adapt(seeded_net())
    monkeypatch.setattr(between_steps, "ALIVE", {model})
    monkeypatch.setattr(between_steps, "WAIT", 0.01)
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        first.submit(between_steps._hold_locks).result()
        second.submit(between_steps._hold_locks).result()  # waits in vain for the first
        second.submit(between_steps._give_back).result()
        first.submit(between_steps._give_back).result()
        assert second.submit(model.lock.acquire, timeout=1).result()
        second.submit(model.lock.release).result()
