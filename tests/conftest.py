"""Before any test is run: can this processor compute with bfloat16, which part of them is asked for, and where are
large data?"""

import os
import re
from pathlib import Path
from zlib import crc32

import pytest

from gotta.processor import LIMIT, PROBE, probe_bfloat16

FOUND = "GOTTA_TESTS_BFLOAT16"  # why tests with bfloat16 are skipped, if they are; for workers, which inherit it
CHILD = "GOTTA_TESTS_PROBE"  # what the child runs instead of bfloat16; for the test of this file


def ask_once() -> str:
    """Why tests with bfloat16 have to be skipped, or nothing. A limit that they need is set for all that follows.

    Here and not in a fixture, because the limit must be set before torch is imported. Workers of pytest-xdist and other
    children inherit limit and answer.
    """
    if FOUND not in os.environ:
        found = probe_bfloat16(os.environ.get(CHILD, PROBE))
        if found.limit is not None:
            os.environ[LIMIT] = found.limit
        os.environ[FOUND] = "" if found.works else f"bfloat16 {found}"
    return os.environ[FOUND]


os.environ.setdefault("OMP_NUM_THREADS", "1")  # OpenMP with several threads does not survive a fork, with any network
WITHOUT_BFLOAT16 = ask_once()
os.environ["XDG_DATA_HOME"] = str(Path(__file__).parent / "nowhere")  # the data of whoever runs tests is not looked at


def pytest_addoption(parser):
    parser.addoption("--shard", metavar="K/N", help="only part K of N of the tests, for example 2/6")


def pytest_collection_modifyitems(config, items):
    for item in items:
        if WITHOUT_BFLOAT16 and item.get_closest_marker("bfloat16"):
            item.add_marker(pytest.mark.skip(reason=WITHOUT_BFLOAT16))
    if shard := config.getoption("--shard"):
        number, of = read_shard(shard)
        others = [item for item in items if shard_of(item.nodeid, of) != number]
        items[:] = [item for item in items if shard_of(item.nodeid, of) == number]
        config.hook.pytest_deselected(items=others)


def read_shard(text):
    """2/6 as the numbers 2 and 6."""
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if found is None or not 1 <= int(found[1]) <= int(found[2]):
        raise pytest.UsageError(f"--shard must be a part and their number, such as 2/6 (got {text})")
    return int(found[1]), int(found[2])


def shard_of(name, of):
    """The part that a test is in, by its name alone: the same on every machine, whatever else is run."""
    return 1 + crc32(name.encode()) % of


def pytest_report_header():
    limit = os.environ.get(LIMIT)
    return WITHOUT_BFLOAT16 or (f"{LIMIT}={limit}" if limit else None)


@pytest.fixture(scope="session")
def needed():
    """Finds a file in the folder that GOTTA_DATA named when the tests began, or skips the test by the file's name."""
    folder = os.environ.get("GOTTA_DATA")

    def find(name: str) -> Path:
        if not folder or not (Path(folder) / name).exists():
            pytest.skip(f"{name} is not in the folder GOTTA_DATA names")
        return Path(folder) / name

    return find


@pytest.fixture(scope="module")
def readable_names():
    """A store takes runs by any name: they are checked in tests/experiment/sweep/test_store.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gotta.experiment.sweep.store._check_name", lambda *given: None)
        yield
