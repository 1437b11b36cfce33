"""Services that a test starts for itself: owners that see only each other's hearts, and the command."""

import os
import signal
import subprocess
import sys

import pytest
from serve.small_cluster import Load, check_kill, free_port, owner, samples, saved_samples, serving

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Ray warns of its own affairs
MINE = """
from torch import nn


def build():
    return nn.Sequential(nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(192, 10)).eval()
"""


def test_an_owner_on_another_machine_is_replaced_when_its_heart_stops(tmp_path):
    """Replicas that cannot see each other's processes, as on two machines."""
    pytest.importorskip("fastapi", reason="ray[serve] is not installed")
    names = [f"far-{number}" for number in range(4)]
    with serving(tmp_path, model="served_models:build_far", takeover=5.0) as service, Load(service, names) as load:
        load.wait_for(120)
        killed_at, saved = load.now, saved_samples(service, names)
        os.kill(owner(service, names[0]), signal.SIGKILL)
        load.wait_for(40)
    assert check_kill(load, killed_at, saved, service, "replica killed on another machine") == []


def test_the_command_serves_and_saves_when_it_is_interrupted(tmp_path):
    pytest.importorskip("fastapi", reason="ray[serve] is not installed")
    httpx = pytest.importorskip("httpx")
    (tmp_path / "mine.py").write_text(MINE)
    port = free_port()
    command = [sys.executable, "-m", "gotta", "serve", "mine:build", "--port", port, "--state", "kept", "--cpus", 0.1]
    with subprocess.Popen(list(map(str, command)), cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert "Serving mine:build at" in process.stdout.readline()
            url = f"http://127.0.0.1:{port}/predict"
            got = httpx.post(url, json={"inputs": samples(0).tolist()}, timeout=60)
            assert (got.status_code, len(got.json()["labels"])) == (200, 1)
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert len(list((tmp_path / "kept" / "streams" / "default" / "states" / "000001").iterdir())) == 2
