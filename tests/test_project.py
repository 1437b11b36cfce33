"""What holds for the project as a whole: versions that are pinned, and licences of what is bundled."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import gotta

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "gotta"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def find_gaps():
    return load(ROOT / ".ci" / "check_constraints.py").find_gaps


def test_what_is_installed_and_not_pinned_is_named(find_gaps):
    pinned = "# versions\nPyYAML==6.0.3\ntorch==2.13.0  # first\njsonschema_specifications==1.0\n"
    there = {"pyyaml": "6.0.3", "torch": "2.13.0+cpu", "jsonschema-specifications": "1.0", "gotta": "0.1", "pip": "23"}
    assert find_gaps(pinned, there) == []
    assert find_gaps(pinned, {**there, "nvidia-cublas-cu12": "12.8", "triton": "3.4"}) == []
    assert find_gaps(pinned, {**there, "rich": "15.0"}) == ["rich==15.0 is installed and not in constraints.txt"]
    assert find_gaps(pinned, {"torch": "2.12.0"}) == ["torch==2.12.0 is installed, constraints.txt has 2.13.0"]
    assert find_gaps("rich>=13", {}) == ["rich>=13 is not pinned"]


def test_every_direct_dependency_is_pinned_above_its_lower_bound():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = dict(
        line.lower().replace("_", "-").split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    )
    wanted = [
        *project["dependencies"],
        *(need for extra in ("dev", "docs") for need in project["optional-dependencies"][extra]),
    ]
    checked = 0
    for requirement in wanted:
        name, _, low = requirement.lower().partition(">=")
        if not name.startswith("gotta"):
            numbers = [[int(n) for n in re.findall(r"\d+", text)] for text in (pinned[name], low)]
            assert numbers[0] >= numbers[1], requirement
            checked += 1
    assert checked > 15


def test_make_and_constraints_name_the_same_versions():
    pinned = (ROOT / "constraints.txt").read_text().splitlines()
    named = re.findall(r"\b[a-z]+==[\d.]+\b", (ROOT / "Makefile").read_text())
    assert len(named) == 3
    assert set(named) <= set(pinned)


def test_ci_checks_the_constraints():
    assert ".venv/bin/python .ci/check_constraints.py" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("folder", ["data/assets", "models/weights"])
def test_the_licence_of_every_bundled_file_is_stated_beside_it_and_in_the_readme(folder):
    stated = (PACKAGE / folder / "LICENCE.md").read_text(encoding="utf-8")
    files = [path.name for path in (PACKAGE / folder).iterdir() if path.name != "LICENCE.md"]
    assert len(files) >= 3
    assert [name for name in files if f"`{name}`" not in stated] == []
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"src/gotta/{folder}/LICENCE.md" in readme.partition("## Licences")[2]


def test_bundled_files_lie_nowhere_else():
    kinds = {".png", ".jpg", ".npz", ".npy", ".safetensors", ".pt", ".pth", ".zip"}
    found = {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*") if path.suffix in kinds}
    assert found == {"data/assets", "models/weights"}


def test_the_version_is_the_same_everywhere():
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    listed = re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited is not None
    assert cited[1] == listed[0] == gotta.__version__
    assert listed == sorted(listed, reverse=True)


def test_ci_builds_the_documentation_and_tries_the_package():
    script = (ROOT / ".ci" / "run").read_text()
    assert {"make package", "make test"} <= set(script.splitlines())
    assert "if make .venv/.docs; then make docs;" in script


def test_links_of_the_long_description_are_whole():
    pytest.importorskip("hatchling")
    make_absolute = load(ROOT / ".ci" / "long_description.py").make_absolute
    text = "![a](docs/a.svg) [b](docs/b.md#c) [d](https://e) [f](#g)"
    home = "https://h"
    expected = "![a](https://h/raw/main/docs/a.svg) [b](https://h/blob/main/docs/b.md#c) [d](https://e) [f](#g)"
    assert make_absolute(text, home) == expected
    assert "](docs/" not in make_absolute((ROOT / "README.md").read_text(), home)
