"""`make mutants`: make one mutation at a time in a copy of the source, and run the tests that must notice it."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).parent / "mutants.yaml"
KILLED, SURVIVED = 1, 0  # what pytest returns if a test fails, and if none does
LONGEST = 300  # seconds that the tests of one mutation may take: a mutation may make a loop endless


@dataclass(frozen=True)
class Mutant:
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    equivalent: str = ""  # why no test can notice it

    def __str__(self) -> str:
        return f"{self.file}: {self.old.strip()!r} -> {self.new.strip()!r}"


def read_mutants(*only: str) -> list[Mutant]:
    """All mutations, or those whose file or text contains one of these words."""
    listed = [Mutant(**{**entry, "tests": tuple(entry.get("tests", ()))}) for entry in yaml.safe_load(LIST.read_text())]
    return [mutant for mutant in listed if not only or any(word in str(mutant) for word in only)]


def verdict(mutant: Mutant) -> str:
    """`killed`, `survived`, or what kept the tests from telling."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__"))
        path = Path(folder) / mutant.file
        path.write_text(path.read_text().replace(mutant.old, mutant.new, 1))
        try:
            done = run_tests(mutant.tests, source, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return f"not judged: its tests take more than {LONGEST} seconds"
    return {KILLED: "killed", SURVIVED: "survived"}.get(done.returncode, f"not judged: {done.stdout[-500:]}")


def run_tests(
    tests: Sequence[str], source: Path, jobs: int = 0, timeout: float | None = None
) -> "subprocess.CompletedProcess[str]":
    """The fast ones of these tests up to the first that fails, with this source."""
    paths = os.pathsep.join([str(source), str(ROOT / "tests")])
    asked = ["-q", "-x", "-n", str(jobs), "-m", "not slow", "-p", "no:cacheprovider", *dict.fromkeys(tests)]
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", *asked]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=timeout
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="mutations whose file or text contains one of these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    listed, began = read_mutants(*given.only), time.monotonic()
    mutants = [mutant for mutant in listed if not mutant.equivalent]
    if not mutants:
        print(f"No mutation has {' or '.join(map(repr, given.only))} in its file or text.")
        return 1
    unchanged = run_tests([test for mutant in mutants for test in mutant.tests], ROOT / "src", given.jobs)
    if unchanged.returncode != SURVIVED:
        print(unchanged.stdout[-2000:])
        print("The tests fail without any mutation, so they can tell nothing. Mend them first.")
        return 1
    odd = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for mutant, found in zip(mutants, pool.map(verdict, mutants), strict=True):
            odd += found != "killed"
            print(f"{found:9} {mutant}", flush=True)
    for mutant in listed:
        if mutant.equivalent:
            print(f"equivalent {mutant}: {mutant.equivalent}")
    minutes = (time.monotonic() - began) / 60
    print(f"{len(mutants) - odd} of {len(mutants)} mutations were noticed, in {minutes:.1f} minutes.")
    return int(odd > 0)


if __name__ == "__main__":
    sys.exit(main())
