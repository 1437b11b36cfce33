"""`gotta show` as a user types it."""

import yaml
from cli.shell import as_in_a_shell, gotta  # noqa: F401

from gotta.memory import policies
from gotta.registry import about


def test_show_tells_every_setting():
    assert "nu: 0.001" in gotta("show", "rotta")
    assert "epsilon: 0.005" in gotta("show", "fps")
    assert "Did you mean 'rotta'" in gotta("show", "rota", code=2)


def test_a_summary_is_text_without_quotes():
    shown = gotta("show", "fps")
    assert "if that one's H (age and uncertainty) is no smaller" in " ".join(shown.split())
    described = yaml.safe_load(shown)
    assert described["summary"] == " ".join(about(policies.get("fps")).split())
    assert ">>>" not in described["summary"]
    assert list(described) == ["name", "summary", "settings", "needs", "refresh_every"]
