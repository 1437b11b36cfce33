"""The page's pure functions, tested by node's own runner."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gotta.report.webpage import FOLDER, MODULES

NODE = shutil.which("node")
TESTS = sorted((Path(__file__).parent / "page").glob("*.test.mjs"))


def test_every_module_is_bundled():
    assert sorted(MODULES) == sorted(path.name for path in FOLDER.glob("*.js"))


def test_the_pure_functions():
    if NODE is None:
        pytest.skip("node is not installed")
    assert len(TESTS) == 1
    answer = subprocess.run([NODE, "--test", *map(str, TESTS)], capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stdout + answer.stderr
