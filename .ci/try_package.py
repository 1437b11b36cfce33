"""Does what would be published work? Builds sdist and wheel, and tries both far from the repository.

The environments are new and borrow the packages of this one (torch is large), but not its gotta: of borrowed
folders Python reads no .pth file, so an editable install there has no effect.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
CELLS = ["--memory", "fps,thinned", "--method", "norm", "stream.per_class=1", "stream.domains=[snow]"]


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        run([sys.executable, "-m", "hatchling", "build", "-d", str(folder / "dist")], ROOT)
        (wheel,), (sdist,) = (list((folder / "dist").glob(kind)) for kind in ("*.whl", "*.tar.gz"))
        check_contents(wheel, sdist)
        for package, plug_in in ((wheel, ROOT / "examples" / "plugin"), (sdist, None)):
            try_out(folder / package.suffix[1:], package, plug_in)
    print("wheel, sdist and plug-in work")


def try_out(folder: Path, package: Path, plug_in: Path | None) -> None:
    """Install into a new environment, and use the command in an empty folder."""
    run([sys.executable, "-m", "venv", "--without-pip", str(folder)], ROOT)
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    python = str(binaries / "python")
    home = Path(run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder).strip())
    (home / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    install = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index"]
    run([*install, "--no-build-isolation", str(package), *([str(plug_in)] if plug_in else [])], folder)
    work = folder / "work"
    work.mkdir()
    gotta = str(binaries / "gotta")
    where = run([python, "-c", "import gotta; print(gotta.__file__)"], work)
    assert str(folder) in where, f"gotta was imported from {where}"
    assert read_version() in run([gotta, "--version"], work)
    assert "table1" in run([gotta, "ls", "recipes"], work)
    if plug_in:
        assert "thinned" in run([gotta, "ls", "memories"], work)
        table = run([gotta, "bench", "--quick", "--jobs", "1", *CELLS], work)
        assert "thinned" in table, table
        assert (work / "runs" / "mini-quick" / "report.html").exists()
        run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(plug_in / "tests")], work)


def check_contents(wheel: Path, sdist: Path) -> None:
    """Bundled images, weights, recipes and licences are inside, and nothing of the tests."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for part in ("gotta/py.typed", "gotta/recipes/ours/mini.yaml", "gotta/report/page/", "licenses/LICENSE"):
        assert any(part in name for name in names), f"{part} is not in the wheel"
    assert any(name.endswith(".safetensors") for name in names)
    with zipfile.ZipFile(wheel) as archive:
        about = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    assert "\nName: gotta-tta\n" in about
    assert "](docs/" not in about, "a link of the long description leads nowhere"
    assert not [name for name in names if name.startswith("tests")]
    with tarfile.open(sdist) as packed:
        files = {name.partition("/")[2] for name in packed.getnames()}
    for part in ("Makefile", "CITATION.cff", "CHANGELOG.md", "docs/conf.py", "examples/plugin/pyproject.toml"):
        assert part in files, f"{part} is not in the sdist"


def read_version() -> str:
    text = (ROOT / "src" / "gotta" / "__init__.py").read_text(encoding="utf-8")
    return text.partition('__version__ = "')[2].partition('"')[0]


def run(command: list[str], folder: Path) -> str:
    """What it prints; what went wrong if it fails."""
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "GOTTA_DATA")}
    done = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


if __name__ == "__main__":
    main()
