"""Install the lowest versions that pyproject.toml allows into a new environment, and run the tests there.

    python .ci/lowest.py FOLDER [options of pytest]
    python .ci/lowest.py --print

The environment borrows torch and the tools for tests from this one; what it installs itself comes first on its path.
The floor of torch is not tried here (see .github/workflows/test.yml): it stays as it is in this environment.
"""

import os
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
BORROWED = ("torch",)


def main(folder: Path, options: list[str]) -> int:
    if folder.name == "--print":
        print("\n".join(read_floors()))
        return 0
    wanted = [text for text in read_floors() if text.partition("==")[0] not in BORROWED]
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        run([sys.executable, "-m", "venv", "--without-pip", str(folder)])
        lend(python)
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q"]
    run([*install, *wanted])
    run([*install, "--no-deps", "--no-build-isolation", "-e", str(ROOT)])
    print("with", *wanted, flush=True)
    check(python, wanted)
    return subprocess.run([python, "-m", "pytest", *options], cwd=ROOT, env=environment(), check=False).returncode


def read_floors() -> list[str]:
    """`name==version` of each dependency that is always installed, and of small extras that tests use."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [text.replace(">=", "==") for text in (*project["dependencies"], *extras["parquet"], *extras["tensorboard"])]


def lend(python: Path) -> None:
    """Folders named in a .pth file come last on the path, and their own .pth files are not read."""
    home = run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()
    Path(home, "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")


def check(python: Path, wanted: list[str]) -> None:
    """Are these versions the ones that are imported?"""
    code = "import sys; from importlib.metadata import version; print(*(version(name) for name in sys.argv[1:]))"
    names = [text.partition("==")[0] for text in wanted]
    found = run([str(python), "-c", code, *names]).split()
    for text, version in zip(wanted, found, strict=True):
        if not f"{version}.".startswith(f"{text.partition('==')[2]}."):
            sys.exit(f"{text} was asked for, {version} is there")


def environment() -> dict[str, str]:
    """Without the pins of the newest versions."""
    return {name: value for name, value in os.environ.items() if name != "PIP_CONSTRAINT"}


def run(command: list[str]) -> str:
    done = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
