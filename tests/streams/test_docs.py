"""The example in docs/adding-a-stream.md runs as it stands there."""

import re
import sys
from pathlib import Path

from gotta.streams import ORDERS, SCHEDULES

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-stream.md"


def test_the_example_runs(tmp_path, monkeypatch):
    first, *others = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(others) == 2
    (tmp_path / "waves.py").write_text(first)
    monkeypatch.syspath_prepend(str(tmp_path))
    for registry in (ORDERS, SCHEDULES):
        registry.names()
        monkeypatch.setattr(registry, "_items", dict(registry._items))
    for block in others:
        exec(block, {})
    assert "waves" in ORDERS.names()
    monkeypatch.delitem(sys.modules, "waves")
