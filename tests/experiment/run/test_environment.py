import json
from pathlib import Path

import numpy as np

from gotta.experiment.run import environment as module
from gotta.experiment.run.environment import environment


def test_environment_says_versions_and_no_names_or_paths():
    found = environment()
    assert {"gotta", "commit", "python", "torch", "numpy", "scipy", "platform", "cpu", "torch_threads"} <= found.keys()
    assert found["numpy"] == np.__version__
    text = json.dumps(found, allow_nan=False)
    assert str(Path.home()) not in text
    assert str(Path(module.__file__).parent) not in text
    assert module.platform.node() not in found.values()
    assert found["commit"] is None or len(found["commit"]) == 40


def test_an_installed_package_has_no_commit(tmp_path, monkeypatch):
    # site-packages inside somebody's own checkout
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr(module.gotta, "__file__", str(tmp_path / "site-packages" / "gotta" / "__init__.py"))
    assert module._checkout.__wrapped__() == {"commit": None, "modified": None}
