"""`gotta check` and `gotta show` as a user types them, with parts of one's own."""

import sys
from contextlib import chdir

import pytest
from cli.shell import MINE as NEWEST
from cli.shell import as_in_a_shell, gotta  # noqa: F401
from typer.testing import CliRunner

from gotta.cli.__main__ import app

pytestmark = pytest.mark.thorough

MINE = '''
from pathlib import Path
import numpy as np
from gotta.methods import Method

class Still(Method):
    """Stays as it is."""
    presets = {"official": {"lr": 0.1, "where": Path("x"), "sizes": (1, 2)}}

class Odd(Method):
    native = "batch"

def backwards(labels, gamma):
    """The other way round."""
    return np.arange(len(labels))[::-1]

def broken(labels):
    raise RuntimeError("mine")
'''


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "mine_to_check.py").write_text(MINE)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def invoke(*arguments):
        with chdir(tmp_path):
            return CliRunner().invoke(app, [str(argument) for argument in arguments])

    yield invoke
    sys.modules.pop("mine_to_check", None)


def test_a_method_and_an_order_of_ones_own_are_checked(run):
    done = run("check", "mine_to_check:Still", "lr=0.5", "--examples", 1)
    assert done.exit_code == 0, done.output
    assert "method mine_to_check:Still: 8 of 8 properties hold" in done.output
    done = run("check", "mine_to_check:backwards", "gamma=0.5", "--examples", 2)
    assert done.exit_code == 0, done.output
    assert "ok    the same in another process" in done.output


def test_a_broken_one_is_told_by_its_properties(run):
    done = run("check", "mine_to_check:broken", "--examples", 2)
    assert done.exit_code == 1
    assert "RuntimeError: mine" in done.output
    assert not isinstance(done.exception, RuntimeError)


def test_parts_of_ones_own_are_shown(run):
    shown = run("show", "mine_to_check:Still").output
    assert "Stays as it is." in shown
    assert "lr: 0.1" in shown
    assert "where: x" in shown
    shown = run("show", "mine_to_check:backwards").output
    assert "kind: order" in shown
    assert "gamma: 0.1" in shown  # the default of streams
    assert "labels" not in shown


def test_what_cannot_be_shown_is_one_message(run):
    done = run("show", "mine_to_check:Odd")
    assert str(done.exception).startswith("method 'mine_to_check:Odd' cannot be described: AttributeError")


def test_a_name_of_two_kinds_shows_both(run):
    shown = run("show", "note").output
    assert "NOTE: instance-aware" in shown
    assert "kind: order" in shown
    assert "beta: 0.1" in shown


def test_a_stream_of_an_order_of_ones_own_is_drawn(run, tmp_path):
    done = run("stream", "show", "order=mine_to_check:backwards", "per_class=2", "domains=snow")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "stream.png").exists()


def test_check_tells_good_policies_from_bad_ones(tmp_path):
    assert "properties hold" in gotta("check", "fifo", "--examples", 2)
    (tmp_path / "beyond.py").write_text(NEWEST.replace("Decision(0,", "Decision(table.capacity,"))
    gotta("check", "beyond:Newest", "--examples", 2, cwd=tmp_path, code=1)
    del sys.modules["beyond"]
