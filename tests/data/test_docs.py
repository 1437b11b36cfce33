"""The example in docs/adding-a-dataset.md runs as it stands there."""

import re
import sys
from pathlib import Path

from gotta.data import DATASETS

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-dataset.md"


def test_the_example_runs(tmp_path, monkeypatch):
    first, *others = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(others) == 1
    (tmp_path / "stripes.py").write_text(first)
    monkeypatch.syspath_prepend(str(tmp_path))
    DATASETS.names()
    monkeypatch.setattr(DATASETS, "_items", dict(DATASETS._items))
    exec(others[0], {})
    assert "stripes" in DATASETS.names()
    monkeypatch.delitem(sys.modules, "stripes")
