"""`gotta run` as a user types it."""

import json
import re

from cli.shell import as_in_a_shell, gotta  # noqa: F401


def test_a_run_shows_its_spec_and_runs_again_from_it(tmp_path):
    settings = ("method.name=tent", "method.lr=1e-4", "memory.name=fps", "memory.capacity=8", "memory.epsilon=0.01")
    small = ("stream.per_class=1", "stream.domains=snow")
    gotta("run", *settings, *small, "--out", tmp_path)
    (folder,) = (tmp_path / "runs").iterdir()
    shown = gotta("show", folder)
    assert "lr: 0.0001" in shown
    assert gotta("show", folder.name[:6], "--store", tmp_path) == shown
    (tmp_path / "spec.yaml").write_text(shown)
    assert gotta("run", tmp_path / "spec.yaml", "--show") == shown
    assert "lr: 0.5" in gotta("run", tmp_path / "spec.yaml", "method.lr=0.5", "--show")
    assert "Did you mean 'method.lr'" in gotta("run", tmp_path / "spec.yaml", "method.lrr=1", code=2)
    (tmp_path / "spec.yaml").write_text("- 1")
    assert "is not a spec" in gotta("run", tmp_path / "spec.yaml", code=2)


def test_one_run_and_its_report(tmp_path):
    settings = ("method.name=norm", "memory.name=fps", "memory.capacity=8", "stream.per_class=1")
    shown = gotta("run", *settings, "--out", tmp_path)
    assert "fps" in shown
    assert "Report:" in shown
    first = (tmp_path / "tables.md").read_bytes()
    (tmp_path / "tables.md").unlink()
    assert "norm" in gotta("report", tmp_path)
    assert (tmp_path / "tables.md").read_bytes() == first


def test_latency_is_measured_in_one_run_and_nothing_is_stored(tmp_path):
    settings = ("method.name=norm", "memory.name=fps", "memory.capacity=8", "stream.per_class=1")
    shown = gotta("run", *settings, "--latency", "--out", tmp_path)
    assert re.search(r"answer +p50 [\d.]+ ms +p99 [\d.]+ ms\n", shown)
    assert re.search(r"step +p50 [\d.]+ ms +p99 [\d.]+ ms\n", shown)
    assert re.search(r"batches of 8, [\d.]+ s, [\d.]+ s of CPU, at most \d+ MB", shown)
    assert not list(tmp_path.glob("runs/*"))


def test_a_recorded_run_shows_its_memory(tmp_path):
    settings = ("method.name=norm", "memory.name=fps", "memory.capacity=8", "stream.per_class=1")
    gotta("run", *settings, "--record", "--out", tmp_path)
    (path,) = (tmp_path / "records").glob("*.json")
    assert (tmp_path / "runs" / path.stem / "summary.json").exists()
    record = json.loads(path.read_text())
    assert len(record["frames"][-1]["rows"]) == 8
    assert record["sprite"].startswith("data:image/jpeg;base64,")
    assert record["classes"][3] == "3 cat"
    assert f'id="record-{path.stem}"' in (tmp_path / "report.html").read_text()
