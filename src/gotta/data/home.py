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
    packed = [f"{name}.tar" for name in names if (folder / f"{name}.tar").exists()]
    hint = f" Unpack {packed[0]} there." if packed else ""
    raise GottaError(f"{what} is not in '{folder}'. Expected there: {' or '.join(names)}.{hint}")


def find(what: str, path: str | Path | None, *names: str) -> Path:
    """What the caller named, else the first of these names in the data home.

    A bare name is one in the data home; a text with a slash, or a Path, is a path.
    """
    if path is None:
        return locate(what, *names)
    if isinstance(path, str) and not {"/", os.sep} & set(path):
        try:
            return locate(what, path)
        except GottaError as error:
            raise GottaError(f"{error} A path of your own has a slash: ./{path}") from None
    given = Path(path).expanduser()
    if not given.exists():
        raise GottaError(f"nothing at '{given}', where {what} should be. Expected an existing path.")
    return given
