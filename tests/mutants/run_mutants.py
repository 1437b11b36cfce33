"""`make mutants`: make one mutation at a time in a copy of the source, and run the tests that must notice it.

Each mutation has a process of its own, forked from one that has imported the large libraries and nothing of gotta.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).parent / "mutants.yaml"
KILLED, SURVIVED = 1, 0  # what pytest returns if a test fails, and if none does
LONGEST = 600  # seconds that the tests of one mutation may take: a mutation may make a loop endless
LIBRARIES = ["torch", "numpy", "scipy.special", "PIL.Image", "pydantic", "jinja2", "typer", "rich.table"]


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


def judge(mutant: Mutant) -> str:
    """`killed`, `survived`, or what kept the tests from telling."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, copy_function=os.symlink)
        path = Path(folder) / mutant.file
        text = path.read_text()
        path.unlink()
        path.write_text(text.replace(mutant.old, mutant.new, 1))
        code, shown = run_tests(mutant.tests, source, LONGEST)
    return {KILLED: "killed", SURVIVED: "survived"}.get(code, f"not judged: {shown[-500:]}")


def run_tests(tests: Sequence[str], source: Path, longest: int = 0) -> tuple[int, str]:
    """The fast ones of these tests up to the first that fails, with this source: pytest's code, and what it printed."""
    import pytest

    os.chdir(ROOT)
    sys.path[:0] = [str(source), str(ROOT / "tests")]
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])  # for tests that start a process
    shown = StringIO()
    signal.signal(signal.SIGALRM, signal.default_int_handler)  # as if by Ctrl-C
    signal.alarm(longest)
    with redirect_stdout(shown), redirect_stderr(shown):
        code = pytest.main(["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", *dict.fromkeys(tests)])
    signal.alarm(0)
    return int(code), shown.getvalue()


@contextmanager
def fresh_processes(jobs: int) -> Iterator[Any]:
    """A map whose calls each have a new process, so many at a time."""
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.path.insert(0, str(ROOT / "tests"))
    import_module("conftest")  # asks once whether bfloat16 works, for all of them
    context = get_context("forkserver")
    context.set_forkserver_preload(LIBRARIES)
    with ProcessPoolExecutor(jobs, context, max_tasks_per_child=1) as pool:
        yield pool.map


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("only", nargs="*", help="mutations whose file or text contains one of these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    listed, began = read_mutants(*given.only), time.monotonic()
    mutants = [mutant for mutant in listed if not mutant.equivalent]
    if not mutants:
        print(f"No mutation has {' or '.join(map(repr, given.only))} in its file or text.")
        return 1
    tests = list(dict.fromkeys(test for mutant in mutants for test in mutant.tests))
    odd = 0
    with fresh_processes(given.jobs) as spread:
        parts = [tests[start :: given.jobs] for start in range(given.jobs)]
        for code, shown in spread(partial(run_tests, source=ROOT / "src"), [part for part in parts if part]):
            if code != SURVIVED:
                print(shown[-2000:])
                print("The tests fail without any mutation, so they can tell nothing. Mend them first.")
                return 1
        for mutant, found in zip(mutants, spread(judge, mutants), strict=True):
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
