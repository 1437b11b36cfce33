import os
import signal
import subprocess
import sys
import time

import pytest

from gotta.experiment.sweep.processes import alive, machine, start_time

pytestmark = pytest.mark.skipif(os.name == "nt", reason="whether a process lives is not told there")


def test_this_process_lives_and_is_told_from_one_that_had_its_number_before():
    assert alive(os.getpid())
    assert alive(os.getpid(), start_time(os.getpid()))
    if start_time(os.getpid()):
        assert not alive(os.getpid(), "1")


def test_a_machine_has_one_name():
    assert machine() == machine()
    assert len(machine()) == 8


def test_killed_and_uncollected_processes_are_dead():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert alive(process.pid, start_time(process.pid))
    assert not alive(process.pid, "1")
    os.kill(process.pid, signal.SIGKILL)
    while alive(process.pid):  # it ends soon, long before anybody collects it
        time.sleep(0.01)
    process.communicate()
    assert not alive(process.pid)
