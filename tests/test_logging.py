"""Rooms log by their module names, and only if somebody asks."""

import logging
import subprocess
import sys

import gotta


def test_rooms_tell_what_they_do(caplog):
    with caplog.at_level(logging.INFO, "gotta"):
        gotta.models.load("resnet20")
        gotta.data.dataset("cifar10-mini")
    assert {record.name for record in caplog.records} == {"gotta.models.zoo", "gotta.data.dataset"}


def test_nobody_is_told_who_did_not_ask():
    code = "import logging, gotta; logging.getLogger('gotta.x').error('loud')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""
