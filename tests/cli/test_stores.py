"""Commands that read folders of runs: they print, and change nothing there."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout

import pytest
from made_runs import made, stored

from gotta.cli.__main__ import main

pytestmark = pytest.mark.usefixtures("readable_names")

HOLDER = {"node": "box", "machine": "another", "pid": 7, "started": "", "token": "t"}


@pytest.fixture(autouse=True)
def as_in_a_shell(monkeypatch):
    for name, value in {"COLUMNS": "140", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def gotta(monkeypatch):
    def call(*arguments, code=0, out=None):
        out, err = out or io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "argv", ["gotta", *map(str, arguments)])
        with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as left:
            main()
        assert (left.value.code or 0) == code, out.getvalue() + err.getvalue()
        assert "Traceback" not in err.getvalue()
        return out.getvalue(), err.getvalue()

    return call


@pytest.fixture
def folder(tmp_path):
    """Five runs, one of them damaged."""
    root = tmp_path / "a"
    stored(root, [made(memory, seed=seed) for memory in ("none", "fps") for seed in (0, 1)] + [made("cds")])
    (root / "runs" / made("cds").id / "summary.json").write_text('{"accuracy": 5')
    return root


class Terminal(io.StringIO):
    def isatty(self):
        return True


def content(root):
    return {path: path.read_bytes() if path.is_file() else None for path in sorted(root.rglob("*"))}


def test_reading_changes_nothing(gotta, folder):
    before = content(folder)
    gotta("status", folder)
    gotta("compare", folder, folder)
    for format in ("csv", "json"):
        gotta("export", folder, "--format", format)
    assert content(folder) == before


def test_status_counts(gotta, folder):
    (folder / "leases" / "abc").mkdir(parents=True)
    (folder / "leases" / "abc" / "000001").write_text(json.dumps(HOLDER))
    out, _ = gotta("status", folder)
    assert "4 finished, 1 running, 1 damaged" in out
    assert "abc  running, last sign 0 s ago; box, process 7" in out
    assert f"{made('cds').id}  damaged: summary.json is not valid JSON" in out


def test_diff_tells_what_changed(gotta, folder, tmp_path):
    other = tmp_path / "b"
    stored(other, [made("fps", scores=(60.0, 61.9, 64.1, 66.0), seed=seed) for seed in (0, 1)] + [made("fifo")])
    out, err = gotta("compare", folder, other)
    assert "only in A: norm + none" in out
    assert "only in B: norm + fifo" in out
    assert "+10.00" in out
    assert "1 cells in both: 0 with the same numbers, 1 changed." in out
    assert "is damaged" in err


def test_two_entries_are_compared_or_what_differs_is_named(gotta, tmp_path):
    runs = [
        made(memory, scores=(50.0 + gain, 61, 55, 66), seed=s)
        for memory, gain in (("fps", 4), ("fifo", 0))
        for s in (0, 1)
    ]
    stored(tmp_path / "c", runs)
    out, _ = gotta("compare", tmp_path / "c", "fps", "fifo")
    assert out.startswith("norm + fps is not significantly different from norm + fifo (+1.0 ± ")
    assert "8 pairs: 2 seeds x 4 domains" in out
    _, err = gotta("compare", tmp_path / "c", "fps", "cstu", code=2)
    _, alone = gotta("compare", tmp_path / "c", "fps", code=2)
    assert "compare 'fps' with what? Give a second entry" in alone.replace("\n", " ")
    assert "entry 'cstu' is unknown. Known: fifo, fps, norm." in err


def test_export_to_standard_output_and_to_a_file(gotta, folder, tmp_path):
    out, err = gotta("export", folder)
    assert out.startswith("id,spec.")
    assert len(out.splitlines()) == 5
    assert "left out: run" in err  # named beside the data, not in it
    gotta("export", folder, "--out", tmp_path / "x" / "runs.csv")
    assert (tmp_path / "x" / "runs.csv").read_text() == out
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["runs.csv"]
    assert len(json.loads(gotta("export", folder, "--format", "json")[0])) == 4


def test_parquet_is_not_for_terminals(gotta, folder, tmp_path):
    pytest.importorskip("pyarrow")
    gotta("export", folder, "--format", "parquet", "--out", tmp_path / "runs.parquet")
    assert (tmp_path / "runs.parquet").read_bytes()[:4] == b"PAR1"
    assert "--out" in gotta("export", folder, "--format", "parquet", code=2, out=Terminal())[1]


@pytest.mark.parametrize("command", [["status"], ["export"], ["report"], ["compare"]])
def test_folders_that_do_not_serve(gotta, tmp_path, command):
    empty, file = tmp_path / "empty", tmp_path / "file"
    empty.mkdir()
    file.write_text("")
    for place, message in ((tmp_path / "nowhere", "gotta: "), (empty, "runs in"), (file, "is a file")):
        arguments = [*command, place, *([place] if command == ["compare"] else [])]
        _, err = gotta(*arguments, code=2)
        assert message in err
        assert len(err.strip().splitlines()) == 1
    assert list(empty.iterdir()) == []
    assert not (tmp_path / "nowhere").exists()


def test_a_store_of_damaged_runs_only(gotta, tmp_path):
    stored(tmp_path, [made()])
    (tmp_path / "runs" / made().id / "spec.json").unlink()
    assert "0 finished, 1 damaged" in gotta("status", tmp_path)[0]
    assert "no finished runs" in gotta("export", tmp_path, code=2)[1]


def test_mistyped_formats_and_files_that_cannot_be_written(gotta, folder, tmp_path):
    assert "Did you mean 'csv'" in gotta("export", folder, "--format", "cvs", code=2)[1]
    assert "cannot write" in gotta("export", folder, "--out", tmp_path, code=2)[1]


def test_several_settings_are_several_tables(gotta, tmp_path):
    stored(tmp_path, [made(memory, memory__capacity=m) for memory in ("none", "fps") for m in (8, 32)])
    out, _ = gotta("report", tmp_path)
    assert "capacity 8" in out
    assert "capacity 32" in out
    text = (tmp_path / "tables.md").read_text()
    assert "## Set-up 1: runs (capacity 8)" in text
    assert "### Beside the paper" in text
