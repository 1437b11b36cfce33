"""docs/memories.md names every policy."""

from pathlib import Path

from gotta.memory import policies

PAGE = Path(__file__).parents[2] / "docs" / "memories.md"


def test_every_policy_is_in_the_table() -> None:
    table = PAGE.read_text()
    assert all(f"| `{name}` |" in table for name in policies.names())
