import os
import platform
import subprocess
import sys

import pytest

from gotta.freed_memory import CHOSEN_BY_USER

ROUNDS = 20
FAULTS = f"""
import resource
import numpy as np
from gotta.freed_memory import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range({ROUNDS}):
        np.ones(1 << 20), np.ones(1 << 20)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

usual = faults()
print(keep_freed_memory(), usual, faults())
"""


def told(**variables: str) -> list[str]:
    there = {name: value for name, value in os.environ.items() if name not in CHOSEN_BY_USER}
    found = subprocess.run([sys.executable, "-c", FAULTS], env=there | variables, capture_output=True, check=True)
    return found.stdout.decode().split()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these limits")
def test_memory_that_was_freed_is_not_asked_of_the_system_again() -> None:
    is_set, usual, kept = told()
    assert is_set == "True"
    pages = 2 * (8 << 20) // os.sysconf("SC_PAGE_SIZE")
    assert int(kept) < 2 * pages < int(usual)


def test_limits_that_the_user_has_set_stay() -> None:
    assert told(MALLOC_TRIM_THRESHOLD_="1000000")[0] == "False"
