"""The example in docs/adding-a-memory.md runs as it stands there."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from gotta.checks.memory import run
from gotta.memory import Memory, policies

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-memory.md"


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 3
    (tmp_path / "hard.py").write_text(blocks[0])
    monkeypatch.syspath_prepend(str(tmp_path))
    names = policies.names()
    monkeypatch.setattr(policies, "_items", dict(policies._items))
    scope: dict[str, object] = {}
    for block in blocks[1:]:
        exec(block, scope)
    assert policies.names() == sorted([*names, "hard"])
    assert Memory("hard:Hard", 4, 2).policy == policies.build("hard")
    assert run("hard:Hard", examples=2).passed
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "hard")


def test_every_policy_is_in_the_table() -> None:
    table = (PAGE.parent / "memories.md").read_text()
    assert all(f"| `{name}` |" in table for name in policies.names())
