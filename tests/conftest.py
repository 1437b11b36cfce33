import os
from pathlib import Path

import pytest


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
