"""`gotta teaser` as a user types it, and as it was called before."""

import pytest
from typer.testing import CliRunner

from gotta import GottaError
from gotta.cli.__main__ import app


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, GottaError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_a_dry_teaser_draws_nothing(tmp_path):
    shown = run("teaser", "--dry-run", "--memory", "fifo,fps", "--out", tmp_path / "t")
    assert "2 memories, one picture" in shown
    assert not (tmp_path / "t").exists()


def test_teaser_draws(tmp_path):
    shown = run("teaser", "--quick", "--memory", "fifo,fps", "--out", tmp_path)
    assert "near-dup" in shown
    assert (tmp_path / "teaser.png").read_bytes().startswith(b"\x89PNG")


def test_bench_teaser_still_works_and_names_the_command(tmp_path):
    shown = run("bench", "teaser", "--dry-run", "--seeds", "3", "--memory", "fps", "--out", tmp_path / "t")
    assert "a command of its own: gotta teaser" in shown
    assert "1 memories, one picture" in shown
    for more in (["method.lr=1"], ["--record"], ["--method", "tent"]):
        with pytest.raises(GottaError, match="gotta teaser --help"):
            run("bench", "teaser", *more)
