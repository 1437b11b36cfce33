"""`gotta replay` as a user types it."""

import re

from cli.shell import as_in_a_shell, gotta  # noqa: F401


def test_a_recorded_stream_is_replayed_through_other_memories(tmp_path):
    settings = ("memory.name=fifo", "memory.capacity=8", "stream.per_class=1", "stream.domains=snow,fog")
    gotta("run", *settings, "--journal", tmp_path / "j.npz")
    shown = gotta("replay", tmp_path / "j.npz", "--memory", "fps,cstu")
    assert "20 samples" in shown
    assert re.search(r"fps +\d+", shown)
    assert "Exact" in shown
    gotta("run", *settings, "method.name=norm", "--journal", tmp_path / "k.npz")
    assert "Approximate" in gotta("replay", tmp_path / "k.npz", "--memory", "fps")
    (tmp_path / "j.npz").write_bytes(b"not a journal")
    assert "not a journal" in gotta("replay", tmp_path / "j.npz", code=2)
