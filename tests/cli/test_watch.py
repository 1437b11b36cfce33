import os
import signal
import subprocess
import sys

import pytest
from made_store import many_runs, write

from gotta.cli.watch import watch
from gotta.errors import GottaError

COMMAND = (sys.executable, "-m", "gotta.cli", "watch")


@pytest.mark.skipif(os.name == "nt", reason="signals are another matter there")
def test_watch_starts_and_stops_cleanly(tmp_path):
    write(tmp_path, list(many_runs(seeds=(0,)))[:2])
    process = subprocess.Popen([*COMMAND, str(tmp_path), "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert b"http://127.0.0.1:" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (out, err, process.returncode) == (b"Stopped.\n", b"", 0)


def test_a_folder_that_is_not_there_is_one_message(tmp_path):
    with pytest.raises(GottaError, match="there is no folder"):
        watch(tmp_path / "no")
