"""What a terminal shows of the default benchmark: little, and all of it with --details."""

from pathlib import Path

import pytest
from cli.shell import as_in_a_shell, gotta  # noqa: F401

MINI = Path(__file__).parents[3] / "results" / "mini.jsonl"


@pytest.mark.parametrize("width", [80, 120])
def test_a_screen_is_enough(tmp_path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    told = gotta("report", MINI, "--out", tmp_path / "out", cwd=tmp_path)
    assert len(told.splitlines()) <= 40
    assert "Best memory" in told
    assert told.count("≈ not significantly different") <= 1
    whole = gotta("report", MINI, "--out", tmp_path / "out", "--details", cwd=tmp_path)
    assert len(whole.splitlines()) > 45
    assert "Seeds: 0, 1, 2." in whole
