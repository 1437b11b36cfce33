"""What `gotta keep` writes is read by every command that reads runs."""

import pytest
from cli.shell import as_in_a_shell, gotta  # noqa: F401
from made_store import many_runs, write

pytestmark = pytest.mark.usefixtures("readable_names")


def test_kept_lines_are_read_wherever_a_folder_of_runs_is(tmp_path):
    write(tmp_path / "runs" / "made", many_runs())
    told = gotta("keep", "runs/made", "results/made.jsonl", cwd=tmp_path)
    assert told.startswith("results/made.jsonl: 22 new of 22 runs, 0.0")
    assert "22 finished" in gotta("status", "results", cwd=tmp_path)
    assert "11 cells in both: 11 with the same numbers" in gotta("compare", "runs/made", "results", cwd=tmp_path)
    assert gotta("export", "results", cwd=tmp_path) == gotta("export", "runs/made", cwd=tmp_path)
    told = gotta("report", "results/made.jsonl", "--details", cwd=tmp_path)
    assert "kept without records of their steps" in told
    assert "Report: runs/report-made/report.html" in told
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["made.jsonl"]
    assert (tmp_path / "runs/report-made/tables.csv").read_text().count("\n") > 10
    assert not list((tmp_path / "runs/report-made/figures").glob("stream*"))
    assert "is not the only one in 'results'" in gotta("show", "ten", "--store", "results", cwd=tmp_path, code=2)


def test_nothing_is_kept_of_a_folder_that_is_not_there(tmp_path):
    assert "there is no folder 'none'" in gotta("keep", "none", "x.jsonl", cwd=tmp_path, code=2)
    (tmp_path / "empty").mkdir()
    assert "no finished runs in 'empty'" in gotta("keep", "empty", "x.jsonl", cwd=tmp_path, code=2)
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_kept_runs_are_not_watched(tmp_path):
    write(tmp_path / "runs" / "made", list(many_runs())[:1])
    gotta("keep", "runs/made", "results/made.jsonl", cwd=tmp_path)
    for path in ("results", "results/made.jsonl"):
        assert "holds kept runs, which do not change" in gotta("watch", path, cwd=tmp_path, code=2)


def test_a_file_without_a_sound_run_makes_no_report(tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"x": 1}\n')
    told = gotta("report", tmp_path / "bad.jsonl", "--out", tmp_path / "page", code=2)
    assert "every run in" in told
    assert "line 1: it holds no run" in told
    assert not (tmp_path / "page").exists()
