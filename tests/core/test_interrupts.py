"""An exception at any line of a call leaves a model as it was before or as it is after, bit for bit."""

import random
import signal
import sys
import warnings
from copy import deepcopy
from pathlib import Path
from threading import Event
from time import perf_counter

import pytest
import torch
from tiny import seeded_net
from whole_state import frozen_state

import gotta
from gotta import GottaError, adapt
from gotta.core.undo import Undo

SOURCE = str(Path(gotta.__file__).parent)
SETUPS = {
    "deskew": {},
    "source": {},
    "tent": {"memory": "fps", "capacity": 8},
    "rotta": {"memory": "cstu", "capacity": 8, "guard": "rollback"},
    "norm": {"memory": "fpsd", "capacity": 8, "statistics": "running"},
    "cotta": {"copies": 2, "anchor_threshold": 0.5},
    "streams": {"method": "deskew", "streams": 2},
    "trained streams": {"method": "tent", "memory": "fps", "capacity": 8},
    "shadow": {"method": "norm", "memory": "fps", "capacity": 8, "shadow": True},
}


@pytest.fixture(autouse=True)
def nothing_watches_torch_afterwards():
    """The thread behind waits before each operation of torch, in a mode that an interrupt must not leave behind."""
    yield
    assert torch.overrides._get_current_function_mode_stack() == []


def images(size=8, seed=0):
    return torch.rand(size, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def warm(setup):
    model = adapt(seeded_net(), **{"method": setup, "seed": 3, **SETUPS[setup]})
    for seed in range(2):
        step_of(setup)(model, seed)
    return model


def step_of(setup):
    """A step of one stream; or of two, one that is known and one that is not, so that a third has to go."""

    def step(model, seed=9):
        model(images(seed=seed), **({"stream": [seed % 2, seed] * 4} if "streams" in setup else {}))

    return step


class Lines:
    """Counts the lines of gotta, or of one of its files, that are traced inside, and raises at one of them."""

    def __init__(self, at=None, file=""):
        self.at, self.seen, self.file = at, 0, file

    def trace(self, frame, event, _):
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        if event == "line" and frame.f_code.co_filename.endswith(self.file):
            self.seen += 1
            if self.seen == self.at:
                raise KeyboardInterrupt
        return self.trace

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)


def lines_of(call, model, file=""):
    with Lines(file=file) as lines, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call(model)
    return lines.seen


def cut(call, model, at, file=""):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(KeyboardInterrupt), Lines(at, file):
            call(model)


def check(call, model, points=None, file=""):
    """Cut a call off at so many of its lines, or at all of them."""
    before, after = frozen_state(model), deepcopy(model)
    total = lines_of(call, after, file)
    points = points or total
    ends = before, frozen_state(after)
    for number in range(points):
        copy = deepcopy(model)
        at = 1 + number * total // points
        cut(call, copy, at, file)
        assert frozen_state(copy) in ends, f"line {at} of {total}"
        call(copy)  # and it goes on
        if number % 7 == 0:
            assert frozen_state(copy) in (ends[1], frozen_state(_twice(call, model))), f"line {at} of {total}"


def _twice(call, model):
    copy = deepcopy(model)
    call(copy)
    call(copy)
    return copy


@pytest.mark.parametrize("setup", SETUPS)
def test_a_step_that_is_cut_off_anywhere_has_happened_or_has_not(setup):
    check(step_of(setup), warm(setup), points=25)


@pytest.mark.slow
@pytest.mark.parametrize("setup", SETUPS)
def test_a_step_that_is_cut_off_at_every_line(setup):
    check(step_of(setup), warm(setup))


def test_what_a_shadow_counts_goes_with_the_step():
    check(step_of("shadow"), warm("shadow"), file="shadow.py")


def test_a_batch_that_waits_is_learned_from_once(monkeypatch):
    monkeypatch.setattr("gotta.core.background._work", lambda *_: Event().wait(5))  # so that `wait` does the work

    def waiting():
        model = adapt(seeded_net(), "tent", memory="fps", capacity=8, seed=3, background=True)
        for seed in range(2):
            model(images(seed=seed))
        return model

    def settle(model):
        model.wait()
        return frozen_state(model)

    end = settle(waiting())
    total = lines_of(lambda model: model.wait(), waiting(), "background.py")
    assert total > 30
    for at in range(1, total + 1):
        model = waiting()
        cut(lambda model: model.wait(), model, at, "background.py")
        assert settle(model) == end, f"line {at} of {total}"
        assert (len(model.behind.waiting), model.failed) == (0, 0)
        torch.testing.assert_close(model.behind.front.model.state_dict(), model.model.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize("setup", ["deskew", "rotta", "streams", "shadow"])
def test_resetting_freezing_and_loading_have_happened_or_have_not(setup, tmp_path):
    model, saved = warm(setup), warm(setup)
    step_of(setup)(saved, 5)
    saved.save(tmp_path)
    for call in (lambda m: m.reset(), lambda m: m.freeze(), lambda m: m.load(tmp_path)):
        check(call, model, points=20)


@pytest.mark.parametrize("method", ["deskew", "tent", "rotta"])
def test_a_rollback_that_is_cut_off_is_finished_by_the_next_call(method):
    model, step = warm(method), step_of(method)
    before = frozen_state(model)
    last = "adapt" if model.method.adapts else "follow"
    total = 60
    for at in range(1, total, 3):
        copy = deepcopy(model)
        well = getattr(copy.method, last)

        def badly(*given, well=well):
            well(*given)
            raise RuntimeError("no")

        setattr(copy.method, last, badly)
        with pytest.raises((KeyboardInterrupt, GottaError)), Rollback(at):
            step(copy)
        delattr(copy.method, last)
        copy.freeze()
        copy.unfreeze()
        assert frozen_state(copy) == before, f"line {at} of the rollback"


class Rollback(Lines):
    """Raises at a line that is reached from `Undo.back`."""

    def trace(self, frame, event, argument):
        back, above = Undo.back.__wrapped__.__code__, frame
        while above is not None and above.f_code is not back:
            above = above.f_back
        return super().trace(frame, event, argument) if above is not None else self.trace if event == "call" else None


def test_what_is_asked_for_inside_a_step_is_refused(tmp_path):
    model, step = warm("tent"), step_of("tent")
    calls = {
        "save()": lambda: model.save(tmp_path / "x"),
        "reset()": model.reset,
        "load()": lambda: model.load(tmp_path / "y"),
        "a copy": lambda: deepcopy(model),
        "a step": lambda: model(images(seed=4)),
        "state_dict()": model.state_dict,
        "freeze()": model.freeze,
    }
    model.save(tmp_path / "y")
    before = frozen_state(model)
    for name, call in calls.items():
        hook = model.model.fc.register_forward_hook(lambda *_, call=call: call() and None)
        with pytest.raises(GottaError, match="asked for inside a step") as told:
            step(model)
        hook.remove()
        assert name in str(told.value)
        assert frozen_state(model) == before, name
    step(model)


def test_a_step_inside_a_step_is_refused_although_a_shadow_answers_what_fails():
    model = warm("shadow")
    twin, told = deepcopy(model), []

    def ask(*_):
        with pytest.raises(GottaError, match="a step was asked for inside a step") as error:
            model(images(seed=4))
        told.append(error.value)

    hook = model.model.fc.register_forward_hook(ask)
    for one in (model, twin):
        step_of("shadow")(one)
    hook.remove()
    assert told
    assert frozen_state(model) == frozen_state(twin)


@pytest.mark.parametrize("error", [MemoryError, torch.OutOfMemoryError, SystemError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["adapt", "predict", "expect_adaptation"])
def test_what_is_not_our_error_reaches_the_caller_as_itself_and_nothing_changes(error, where, monkeypatch):
    model, step = warm("tent"), step_of("tent")
    before = frozen_state(model)

    def fail(*_, **__):
        raise error("none left")

    if where == "expect_adaptation":
        monkeypatch.setattr("gotta.core.undo.tensors", fail)
    else:
        monkeypatch.setattr(model.method, where, fail)
    with pytest.raises(error, match="none left"):
        step(model)
    monkeypatch.undo()
    assert frozen_state(model) == before
    step(model)


def interrupt(call, model, delay):
    """A call, and after so many seconds a real interrupt. Whether it came in time."""

    def raise_it(*_):
        raise KeyboardInterrupt

    usual = signal.signal(signal.SIGALRM, raise_it)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            call(model)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    finally:
        signal.signal(signal.SIGALRM, usual)
    return False


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file cut off as it was opened
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that interrupt")
@pytest.mark.parametrize("name", ["step", "save", "load", "reset"])
@pytest.mark.parametrize("setup", ["deskew", "tent", "rotta", "streams", "shadow"])
def test_timers_that_interrupt_at_random_moments(setup, name, tmp_path):
    """41 of each, 820 in all. Delays are drawn; where in the call they come is up to the machine."""
    old, model, other = warm(setup), warm(setup), tmp_path / "other"
    step_of(setup)(model, 5)
    old.save(other)
    call = {
        "step": step_of(setup),
        "save": lambda m: m.save(tmp_path / "state"),
        "load": lambda m: m.load(other),
        "reset": lambda m: m.reset(),
    }[name]

    def state(m):
        return frozen_state(gotta.load(tmp_path / "state", seeded_net()) if name == "save" else m)

    def begin():
        if name == "save":
            old.save(tmp_path / "state")
        return deepcopy(model)

    draw, times, came = random.Random(f"{setup} {name}"), [], 0
    before = state(begin())
    for _ in range(3):
        done, start = begin(), perf_counter()
        call(done)
        times.append(perf_counter() - start)
    ends = before, state(done)
    assert before != ends[1]
    longest = min(times)
    while came < 41:
        copy = begin()
        in_time = interrupt(call, copy, draw.uniform(1e-5, longest))
        came, longest = came + in_time, longest * (1.1 if in_time else 0.7)
        assert state(copy) in ends
        if state(copy) == before:
            call(copy)
            assert state(copy) == ends[1]
