"""How much of gotta is imported for what one asks of it."""

import subprocess
import sys

import pytest

COUNT = "print(len([name for name in sys.modules if name == 'gotta' or name.startswith('gotta.')]))"


@pytest.mark.parametrize(
    ("asked", "most"),
    [("gotta.adapt", 80), ("gotta.plan('mini')", 200), ("gotta.plan('mini', quick=True, memory='fps')", 200)],
)
def test_few_modules_are_loaded(tmp_path, asked, most):
    code = f"import sys, gotta; {asked}; {COUNT}"
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert 10 < int(found.stdout) <= most


def test_a_plan_loads_neither_the_report_nor_what_only_running_needs(tmp_path):
    code = "import sys, gotta; gotta.plan('mini'); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split())
    assert "gotta.experiment.recipe.recipe" in loaded
    assert not [name for name in loaded if name.startswith(("gotta.report", "gotta.metrics", "gotta.cli"))]
    assert "gotta.experiment.run.run" not in loaded
