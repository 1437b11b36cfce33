"""The page's pure functions, tested by node's own runner."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from gotta.report.page.webpage import FOLDER, MODULES

NODE = shutil.which("node")
ROOT = Path(__file__).parents[3]
TESTS = sorted(Path(__file__).parent.glob("*.test.mjs"))


def test_every_module_is_bundled():
    assert sorted(MODULES) == sorted(path.stem for path in FOLDER.glob("*.js"))


def test_the_pure_functions():
    if NODE is None:
        pytest.skip("node is not installed")
    assert len(TESTS) == 1
    answer = subprocess.run([NODE, "--test", *map(str, TESTS)], capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_the_lock_is_whole_and_names_no_place():
    """`npm ci` refuses a lock without the binaries of every platform."""
    text = (ROOT / "package-lock.json").read_text(encoding="utf-8")
    packages = json.loads(text)["packages"]
    asked = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    assert packages[""]["devDependencies"] == asked
    wanted = asked | packages["node_modules/@biomejs/biome"]["optionalDependencies"]
    assert {f"node_modules/{name}" for name in wanted} == packages.keys() - {""}
    assert all(packages[f"node_modules/{name}"]["version"] == version for name, version in wanted.items())
    assert all(package["integrity"] for name, package in packages.items() if name)
    assert "resolved" not in text
    assert "://" not in text
