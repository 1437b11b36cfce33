"""Calling the command as a user types it, in this process."""

import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO

import pytest

from gotta.cli.__main__ import main

ENVIRONMENT = {**os.environ, "COLUMNS": "140", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
MINE = '''
from dataclasses import dataclass

from gotta.memory import Decision, Policy


@dataclass(frozen=True)
class Newest(Policy):
    """Keeps overwriting one row."""

    def place(self, table, new, rng):
        return Decision(0, "newest")
'''


@pytest.fixture(autouse=True)
def as_in_a_shell(monkeypatch):
    """A wide terminal without colours; what the command does to its process is undone."""
    for name, value in {"COLUMNS": "140", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "path", list(sys.path))


def gotta(*arguments, cwd=".", code=0, stream=""):
    """What the command prints: to standard output if it is to succeed, else to standard error unless told."""
    out, err = StringIO(), StringIO()
    sys.argv[1:], before = [str(argument) for argument in arguments], sys.argv[1:]
    with redirect_stdout(out), redirect_stderr(err), chdir(cwd), pytest.raises(SystemExit) as left:
        main()
    sys.argv[1:] = before
    assert (left.value.code or 0) == code, out.getvalue() + err.getvalue()
    return (out if stream == "out" or not code else err).getvalue()
