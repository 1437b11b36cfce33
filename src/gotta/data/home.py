"""Where data sets are kept: the one folder that GOTTA_DATA names (`--data-dir` sets it), never the current one."""

import os
from pathlib import Path

from gotta.errors import GottaError

VARIABLE = "GOTTA_DATA"


def home() -> Path:
    """The data home."""
    named = os.environ.get(VARIABLE)
    if not named:
        raise GottaError(
            f"no data folder is named. Set {VARIABLE} or pass --data-dir with the folder of your data sets."
        )
    path = Path(named).expanduser()
    if not path.is_dir():
        raise GottaError(
            f"the data folder '{path}' does not exist. Make it, or let {VARIABLE} or --data-dir name another."
        )
    return path


def locate(what: str, *names: str) -> Path:
    """The first of these names that the data home holds; `what` is whom they belong to."""
    folder = home()
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise GottaError(f"{what} is not in '{folder}'. Expected there: {' or '.join(names)}.")
