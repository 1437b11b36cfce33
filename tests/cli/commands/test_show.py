"""`gotta show` as a user types it."""

from cli.shell import as_in_a_shell, gotta  # noqa: F401


def test_show_tells_every_setting():
    assert "nu: 0.001" in gotta("show", "rotta")
    assert "epsilon: 0.005" in gotta("show", "fps")
    assert "Did you mean 'rotta'" in gotta("show", "rota", code=2)
