"""`gotta stream` as a user types it."""

from cli.shell import as_in_a_shell, gotta  # noqa: F401


def test_stream_show_draws(tmp_path):
    text = gotta("stream", "show", "per_class=3", "domains=snow,fog", "--out", tmp_path / "s.png")
    assert "run" in text
    assert (tmp_path / "s.png").read_bytes().startswith(b"\x89PNG")


def test_stream_show_tells_which_batches_are_adapted_to(tmp_path):
    given = ("per_class=10", "domains=snow,fog", "batch_size=20", "expose_every=4", "--out", tmp_path / "s.png")
    assert "adapted to   3 of 10 batches; all are scored" in gotta("stream", "show", *given)
    assert "expose_every must be a whole number of at least 1 (got 0)" in gotta(
        "stream", "show", "expose_every=0", code=2
    )
