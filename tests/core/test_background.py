"""background=True: predictions at once from the last finished state; nothing is lost, torn or waited for."""

import copy
import gc
import subprocess
import sys
import threading
import time
import weakref

import pytest
import torch
from tiny import seeded_net

import gotta
from gotta import GottaError
from gotta.core import background
from gotta.core.background import Background

METHODS = {
    "deskew": {},
    "source": {},
    "tent": {"memory": "fps", "capacity": 16},
    "rotta": {"memory": "fps", "capacity": 16},
    "norm": {"memory": "cstu", "capacity": 16},
    "pl": {},
    "t3a": {},
    "lame": {"memory": "fifo", "capacity": 16},
    "cache": {"memory": "fifo", "capacity": 16},
}
pytestmark = pytest.mark.filterwarnings("ignore::gotta.priors.OrderWarning")


def batches(count=6, size=8, seed=0):
    return list(torch.rand(count, size, 3, 8, 8, generator=torch.Generator().manual_seed(seed)))


def behind(method="tent", **more):
    return gotta.adapt(seeded_net(), method, **METHODS[method], background=more.pop("background", True), **more)


class Gate:
    """Holds the adaptation until it is opened."""

    def __init__(self, model):
        self.reached, self.open = threading.Event(), threading.Event()
        adapt = model.method.adapt

        def held(batch):
            self.reached.set()
            assert self.open.wait(60)
            return adapt(batch)

        model.method.adapt = held


@pytest.mark.parametrize("method", METHODS)
def test_where_it_waits_for_the_thread_it_is_the_usual_model(method):
    model, usual = behind(method), gotta.adapt(seeded_net(), method, score="before", **METHODS[method])
    for x in batches(8):
        torch.testing.assert_close(model(x), usual(x), rtol=0, atol=1e-6)
        model.wait()
    assert (model.adaptations, model.offered) == (usual.adaptations, 64)
    if isinstance(model, Background):
        assert (model.dropped, model.failed) == (0, 0)


def test_a_prediction_does_not_wait_for_an_adaptation():
    model, still = behind(), gotta.adapt(seeded_net(), "tent", **METHODS["tent"])
    first, *rest = batches(8)
    model(first)
    model.wait()
    gate = Gate(model)
    try:
        model(rest[0])  # 16 samples: it is time to adapt
        assert gate.reached.wait(60)
        answers = [model(x) for x in rest[1:]]  # answered while the adaptation goes on
    finally:
        gate.open.set()
    still.freeze()
    torch.testing.assert_close(answers, [still(x) for x in rest[1:]], rtol=0, atol=1e-6)
    model.wait()
    assert model.adaptations == 4
    assert model.offered == 64


@pytest.mark.parametrize("method", ["lame", "cache"])
def test_the_rows_of_the_memory_are_asked_about_behind(method):
    """A prediction is one forward of its own batch, whatever the memory holds."""
    model, sizes = behind(method), []
    for x in batches(4):
        model(x)
        model.wait()
    model.behind.front.model.register_forward_pre_hook(lambda net, inputs: sizes.append(len(inputs[0])))
    model(batches()[0])
    assert sizes == [8]
    assert len(model.memory) == 16


def test_a_full_queue_drops_batches_and_counts_them():
    model = behind(background=2)
    gate = None
    first, *rest = batches(9)
    model(first)
    model.wait()
    gate = Gate(model)
    try:
        model(rest[0])
        assert gate.reached.wait(60)
        outcomes = [model.step(x) for x in rest[1:]]
    finally:
        gate.open.set()
    assert [outcome.diagnostics["dropped"] for outcome in outcomes] == [0, 0, 1, 2, 3, 4, 5]
    assert outcomes[-1].diagnostics["waiting"] == 3  # with the one that is being learned from
    model.wait()
    assert (model.dropped, model.offered) == (5, 8 * 4)


def test_save_and_load_keep_what_was_given(tmp_path):
    model, usual = behind(), gotta.adapt(seeded_net(), "tent", **METHODS["tent"])
    for x in batches(5):
        model(x)
        usual(x)
    model.save(tmp_path)
    again = gotta.load(tmp_path, seeded_net())
    assert isinstance(again, Background)
    assert (again.offered, again.adaptations) == (40, usual.adaptations)
    x = batches(1, seed=1)[0]
    torch.testing.assert_close(again(x), usual(x), rtol=0, atol=1e-6)


def test_reset_rollback_and_freeze_reach_the_next_prediction():
    net, model = seeded_net().eval(), behind()
    for x in batches(4):
        model(x)
    number = model.snapshot()
    x = batches(1, seed=1)[0]
    model.freeze()
    frozen = model(x)
    for one in batches(4, seed=2):
        model(one)
    torch.testing.assert_close(model(x), frozen, rtol=0, atol=0)
    model.unfreeze()
    model.reset()
    torch.testing.assert_close(model(x), net(x), rtol=0, atol=1e-6)
    model.rollback(number)
    torch.testing.assert_close(model(x), frozen, rtol=0, atol=1e-6)


def test_a_caller_who_holds_the_lock_does_not_wait_for_itself():
    model = behind()
    with model.lock:
        for x in batches(4):
            model(x)
        assert model.snapshot() == 1
        assert model.offered == 32


def test_a_batch_that_cannot_be_learned_from_is_counted_and_logged(caplog):
    model = behind()
    model(batches(1)[0])
    model.wait()

    def fail(*_):
        raise RuntimeError("out of paper")

    model.method.adapt = fail
    x = batches(1)[0]
    model(x)
    model.wait()
    assert (model.failed, model.offered) == (1, 8)
    assert "out of paper" in caplog.text
    del model.method.adapt
    model(x)
    model.wait()
    assert (model.failed, model.adaptations) == (1, 1)


def test_an_interrupt_while_waiting_loses_no_batch():
    model = behind(background=8)
    model(batches(1)[0])
    model.wait()
    with model.lock:  # the thread cannot take it
        model(batches(1)[0])

        def cut(*_):
            raise KeyboardInterrupt

        model.method.adapt = cut
        with pytest.raises(KeyboardInterrupt):
            model.wait()
        del model.method.adapt
        assert model.offered == 8
    model.wait()
    assert (model.offered, model.adaptations, model.failed) == (16, 1, 0)


def test_the_callers_tensor_may_change_after_the_call():
    model, usual = behind(), gotta.adapt(seeded_net(), "tent", **METHODS["tent"])
    held = torch.empty(8, 3, 8, 8)
    with model.lock:
        for x in batches(4):
            held.copy_(x)
            model(held)
            usual(x)
        held.zero_()
        model.wait()
    for name, value in usual.model.state_dict().items():
        torch.testing.assert_close(model.model.state_dict()[name], value, rtol=0, atol=1e-6)


def test_threads_share_it_and_copies_have_their_own():
    model, failed = behind(), []

    def work(seed):
        try:
            for x in batches(6, seed=seed):
                model(x)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    model.wait()
    assert not failed
    assert model.offered == 8 * (24 - model.dropped)
    other = copy.deepcopy(model)
    other(batches(1)[0])
    other.wait()
    assert (other.offered, other.behind is model.behind) == (model.offered + 8, False)


def test_each_step_is_told_once():
    heard = []
    model = behind(on_step=heard.append)
    for x in batches(4):
        model(x)
    model.wait()
    assert len(heard) == 4


def test_the_thread_ends_with_its_model():
    model = behind()
    model(batches(1)[0])
    model.wait()
    thread, gone = model.behind.thread, weakref.ref(model)
    del model
    deadline = time.monotonic() + 30
    while (gone() is not None or thread.is_alive()) and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.05)
    assert gone() is None
    assert not thread.is_alive()


def test_what_has_nothing_to_do_behind_stays_as_it_is():
    for method in ("deskew", "source"):
        model = behind(method)
        assert not isinstance(model, Background)
        model(batches(1)[0])
        model.wait()


def test_a_program_that_ends_does_not_wait_for_the_queue_and_does_not_abort():
    code = (
        "import torch, gotta\n"
        "net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3), torch.nn.BatchNorm2d(32), torch.nn.Flatten(), "
        "torch.nn.Linear(32 * 900, 10))\n"
        "model = gotta.adapt(net, 'tent', 'fps', 16, 10, background=True)\n"
        "for _ in range(40): model(torch.rand(16, 3, 32, 32))\n"
        "print('done')"
    )
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr


@pytest.mark.parametrize("bad", [-1, 2.5, "yes"])
def test_bad_settings(bad):
    with pytest.raises(GottaError, match="background must be"):
        gotta.adapt(seeded_net(), background=bad)
    for other in ({"guard": "warn"}, {"shadow": True}):
        with pytest.raises(GottaError, match="background does not go with"):
            gotta.adapt(seeded_net(), background=True, **other)


def test_a_batch_that_is_refused_is_refused_at_once():
    model = behind()
    with pytest.raises(GottaError, match="NaN"):
        model(torch.full((2, 3, 8, 8), torch.nan))
    model.wait()
    assert (model.offered, model.failed) == (0, 0)


def test_streams_do_not_go_with_it():
    model = behind("norm")
    with pytest.raises(GottaError, match="one stream"):
        model(batches(1)[0], stream="a")
    model.wait()
    assert model.offered == 0


def test_the_thread_behind_waits_for_predictions_at_each_operation():
    class Idle:
        asked = 0

        def is_set(self):
            return False

        def wait(self, seconds):
            assert seconds == background.PATIENCE
            self.asked += 1

    idle = Idle()
    with background.Yielding(idle):
        assert float(torch.ones(2).add(1).sum()) == 4
    assert idle.asked >= 3


def test_predictions_say_that_they_go_on_until_the_last_one_is_over():
    model, seen = behind("tent"), []
    model(batches()[0])
    model.wait()
    front = model.behind.front
    front.model.register_forward_pre_hook(lambda *given: seen.append(model.behind.idle.is_set()))
    model(batches()[1])
    assert seen == [False]
    assert model.behind.idle.is_set()
    with model.behind.in_front():
        with model.behind.in_front():
            pass
        assert not model.behind.idle.is_set()
    with pytest.raises(GottaError):
        model(torch.full((8, 3, 8, 8), float("nan")))
    assert model.behind.idle.is_set()


def test_a_step_inside_the_step_behind_is_refused():
    """By a hook: it would be a batch of its own each time, and would wait for itself."""
    model, told = behind("tent"), []
    first, second = batches(2)
    model(first)
    model.wait()

    def ask(*_):
        with pytest.raises(GottaError, match="a step was asked for inside a step") as error:
            model(first)
        told.append(error.value)

    hook = model.model.fc.register_forward_hook(ask)
    model(second)
    model.wait()
    hook.remove()
    assert told
    assert model.failed == 0
    model(first)
    model.wait()
    assert model.offered == 24
