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
