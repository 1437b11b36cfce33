"""`gotta stream` as a user types it."""

from cli.shell import as_in_a_shell, gotta  # noqa: F401


def test_stream_show_draws(tmp_path):
    text = gotta("stream", "show", "per_class=3", "domains=snow,fog", "--out", tmp_path / "s.png")
    assert "run" in text
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")
