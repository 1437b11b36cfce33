import os
import signal
import subprocess
import sys

import pytest
from made_store import many_runs, write

from gotta.cli.commands.watch import watch
from gotta.errors import GottaError

COMMAND = (sys.executable, "-m", "gotta.cli", "watch")


def default_ctrl_c():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(os.name == "nt", reason="signals are another matter there")
def test_watch_starts_and_stops_cleanly(tmp_path):
    write(tmp_path, list(many_runs(seeds=(0,)))[:2])
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [*COMMAND, str(tmp_path), "--port", "0"]
    # Whoever runs the tests in the background has Ctrl-C ignored, and so have its children unless told otherwise.
    with subprocess.Popen(command, **pipes, preexec_fn=default_ctrl_c) as process:
        try:
            assert b"http://127.0.0.1:" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (out, err, process.returncode) == (b"Stopped.\n", b"", 0)


def test_a_folder_that_is_not_there_is_one_message(tmp_path):
    with pytest.raises(GottaError, match="there is no folder"):
        watch(tmp_path / "no")
