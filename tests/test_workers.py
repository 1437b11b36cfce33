"""Work done ahead: in order, bounded, and gone when it is over."""

import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from worker_tasks import die, double, fail_at_three, whose

from gotta.errors import GottaError
from gotta.workers import run_in_order


def ahead_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("gotta-ahead")]


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_results_come_in_order(workers):
    def slow_when_even(shared, task):
        time.sleep(0.01 * (task % 2 == 0))
        return shared * task

    assert list(run_in_order(slow_when_even, 10, range(20), workers)) == [10 * task for task in range(20)]


def test_no_more_is_done_than_two_each_ahead():
    begun = []
    results = run_in_order(lambda shared, task: begun.append(task) or task, None, range(100), 2)
    next(results)
    time.sleep(0.1)
    assert len(begun) <= 5
    results.close()


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_comes_in_its_turn_and_ends_the_workers(workers):
    results = run_in_order(fail_at_three, None, range(100), workers)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(GottaError, match="three is wrong"):
        next(results)
    assert not ahead_threads()


def test_closing_ends_the_workers():
    results = run_in_order(double, 1, range(100), 2)
    next(results)
    assert ahead_threads()
    results.close()
    assert not ahead_threads()


def test_negative_workers():
    with pytest.raises(GottaError, match="workers=-1 is negative"):
        next(run_in_order(double, 1, [1], -1))


def test_a_worker_of_a_sweep_uses_threads(monkeypatch):
    monkeypatch.setattr("gotta.workers.current_process", lambda: SimpleNamespace(daemon=True))
    assert set(run_in_order(whose, None, range(2), 1, processes=True)) == {os.getpid()}


@pytest.mark.thorough
def test_processes_do_the_same_and_errors_pass_between_them():
    assert list(run_in_order(double, 3, range(8), 1, processes=True)) == [3 * task for task in range(8)]
    assert os.getpid() not in set(run_in_order(whose, None, range(2), 1, processes=True))
    with pytest.raises(GottaError, match="three is wrong"):
        list(run_in_order(fail_at_three, None, range(8), 1, processes=True))
    with pytest.raises(GottaError, match="a worker process died"):
        list(run_in_order(die, None, range(8), 1, processes=True))


SCRIPT = """
import signal, time
from gotta.workers import run_in_order
from worker_tasks import whose
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with Ctrl-C ignored
    results = run_in_order(whose, None, range(1000), 1, processes=True)
    print(next(results), flush=True)
    time.sleep(60)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_workers_end_with_their_parent(tmp_path, how):
    (tmp_path / "script.py").write_text(SCRIPT)
    path = os.pathsep.join([os.path.dirname(__file__), *(p for p in sys.path if p)])
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "script.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )
    worker = int(parent.stdout.readline())
    # Ctrl-C reaches every process of a terminal.
    (os.killpg if how == signal.SIGINT else os.kill)(parent.pid, how)
    assert parent.wait(20) != 0
    parent.stdout.close()
    until = time.monotonic() + 20
    while alive(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(worker)


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
